-- Defines append_audit for the scripts that change what the audit log is about: the change and its entry are one step, so neither
-- exists without the other. Put before the text of such a script.
--
-- key           <prefix>:audit, a stream with one field, `facts`
-- retention_ms  entries that are older are removed
-- facts         a table, or JSON
local function append_audit(key, retention_ms, facts)
  local time = redis.call('TIME')
  local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(retention_ms)
  if type(facts) == 'table' then facts = cjson.encode(facts) end
  redis.call('XADD', key, 'MINID', string.format('%.0f', oldest), '*', 'facts', facts)
end
