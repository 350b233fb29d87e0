-- Whether nothing of a model (`name@version`) may be claimed: it, its name, or everything (`*`) is paused. This text is put before the
-- scripts that use it. `pauses` is <prefix>:pauses, a hash by what is paused.
local function is_paused(pauses, model)
  local found = redis.call('HMGET', pauses, '*', string.match(model, '^[^@]*'), model)
  return (found[1] or found[2] or found[3]) and true or false
end
