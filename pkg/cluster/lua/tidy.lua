-- ARGV: 3 fence, 4 sweeper's notes, then the targets whose pauses may have ended.
-- Replies {ok|fenced, epoch, target ended …}.
if fenced(ARGV[3]) then return { 'fenced', integer(number(epoch)) } end
redis.call('HSET', work, 'sweep', ARGV[4])

local ended = {}
for i = 5, #ARGV do
  local pause = decode(redis.call('HGET', pauses, ARGV[i]) or '')
  local untilMS = pause and tonumber(pause.until_ms) or 0
  if untilMS > 0 and untilMS <= now then ended[#ended + 1] = ARGV[i] end
end
if #ended == 0 then return { 'ok', integer(number(epoch)) } end

local e = rise(epoch)
for _, target in ipairs(ended) do
  redis.call('HDEL', pauses, target)
  record(e, 'resumed', target, 'sweep', 'its time ended')
end
publish(e)
return { 'ok', e, unpack(ended) }
