-- Takes a place among the held requests, if one is free. KEYS[1] = the places.
-- ARGV = registry time in ms, until when in ms, source, id of the request, how
-- many may be held, how many of one source. Replies 1, or 0 where it is full.
local places, now, till, source, id = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local most, each = tonumber(ARGV[5]), tonumber(ARGV[6])

redis.call('ZREMRANGEBYSCORE', places, '-inf', now) -- whoever was cut off, and never gave its place back
local held = redis.call('ZRANGE', places, 0, -1)
if #held >= most then return 0 end
for _, other in ipairs(held) do
  if string.sub(other, 1, #source + 1) == source .. '/' then
    each = each - 1
    if each <= 0 then return 0 end
  end
end
if each <= 0 then return 0 end
redis.call('ZADD', places, till, source .. '/' .. id)
return 1
