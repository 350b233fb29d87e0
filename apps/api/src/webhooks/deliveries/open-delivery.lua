-- Defines open_delivery, for Deliveries and for scripts that make a change and its webhook in one step. It stores a new delivery, due
-- at once. A second call with the same webhook id changes nothing: the body of the first one stays.
--
-- key          <prefix>:delivery:<job>:<event>
-- undelivered  <prefix>:undelivered; also the channel that announces a delivery that is due at once
-- entry        `<job> <event>`
-- id           webhook id; a delivery with another id is of an older event of this kind and is replaced
-- kept_ms      how long the record is kept while it is pending
-- fields       its fields: name, value, name, value ...
-- Returns its state.
local function open_delivery(key, undelivered, entry, id, kept_ms, fields)
  if redis.call('HGET', key, 'id') == id then return redis.call('HGET', key, 'state') end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('DEL', key)
  redis.call('HSET', key, 'id', id, 'state', 'pending', 'tries', 0, 'created_at', now, 'due_at', now, unpack(fields))
  redis.call('PEXPIRE', key, kept_ms)
  redis.call('ZADD', undelivered, now, entry)
  redis.call('PUBLISH', undelivered, entry)
  return 'pending'
end
