-- ARGV: 3 fence, then ids whose tombstones may be past their time.
-- Replies {ok|fenced, epoch, id forgotten …}.
if fenced(ARGV[3]) then return { 'fenced', integer(number(epoch)) } end

local forgotten = {}
for i = 4, #ARGV do
  local untilMS = tonumber(string.match(redis.call('HGET', left, ARGV[i]) or '', '^%S+ (%d+)$') or '0')
  if untilMS <= now and redis.call('HDEL', left, ARGV[i]) == 1 then forgotten[#forgotten + 1] = ARGV[i] end
end
return { 'ok', integer(number(epoch)), unpack(forgotten) }
