-- ARGV: 3 fence, then id, last pulse, generation for each node to remove. One that
-- pulsed or registered since stays. Replies {ok|fenced, epoch, id removed …}.
if fenced(ARGV[3]) then return { 'fenced', integer(number(epoch)) } end

local gone = {}
for i = 4, #ARGV, 3 do
  local id = ARGV[i]
  if generation(id) == ARGV[i + 2] and pulse(id) == tonumber(ARGV[i + 1]) then gone[#gone + 1] = id end
end
if #gone == 0 then return { 'ok', integer(number(epoch)) } end

local e = rise(epoch)
for _, id in ipairs(gone) do
  redis.call('HDEL', nodes, id)
  redis.call('HDEL', reports, id)
  redis.call('HDEL', figures, id)
  redis.call('ZREM', pulses, id)
  record(e, 'node.pruned', 'node:' .. id, 'sweep', 'silent')
end
publish(e)
return { 'ok', e, unpack(gone) }
