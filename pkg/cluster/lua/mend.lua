-- ARGV: 3 fence, then ids that may have a part of a record only. A node without a
-- pulse gets one of now and ages from there; it counts again, which moves the
-- epoch. What has no descriptor goes. Replies {ok|fenced, epoch, id mended …}.
if fenced(ARGV[3]) then return { 'fenced', integer(number(epoch)) } end

local mended, silent = {}, {}
for i = 4, #ARGV do
  local id = ARGV[i]
  if redis.call('HEXISTS', nodes, id) == 0 then
    local parts = redis.call('ZREM', pulses, id) + redis.call('HDEL', reports, id) + redis.call('HDEL', figures, id)
    if parts > 0 then mended[#mended + 1] = id end
  elseif pulse(id) == 0 then
    silent[#silent + 1], mended[#mended + 1] = id, id
  end
end
if #silent == 0 then return { 'ok', integer(number(epoch)), unpack(mended) } end

local e = rise(epoch)
for _, id in ipairs(silent) do
  redis.call('ZADD', pulses, integer(now), id)
  record(e, 'node.mended', 'node:' .. id, 'sweep', 'it had no pulse')
end
publish(e)
return { 'ok', e, unpack(mended) }
