-- ARGV: 3 fence, then id, last pulse, generation for each node to stamp with now:
-- its probe answered, or its stamp lies in the future. Replies {ok|fenced, epoch}.
if fenced(ARGV[3]) then return { 'fenced', integer(number(epoch)) } end
for i = 4, #ARGV, 3 do
  local id = ARGV[i]
  if generation(id) == ARGV[i + 2] and pulse(id) == tonumber(ARGV[i + 1]) then
    redis.call('ZADD', pulses, integer(now), id)
  end
end
return { 'ok', integer(number(epoch)) }
