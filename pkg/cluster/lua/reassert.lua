-- ARGV: 3 target, 4 pause without its epoch, 5 the epoch that it had, 6 by, 7 id of
-- the newest event that the caller has looked at, '-' for none. For a pause that
-- the registry has lost: it stays away if it stands, or if it was resumed since.
-- Replies {ok|none, epoch}, or {more, epoch, newest, oldest id looked at} if the
-- caller has to look at the events before, for they are too many for a script.
if not decode(ARGV[4]) or string.sub(ARGV[4], -1) ~= '}' then return invalid('pause') end
if redis.call('HEXISTS', pauses, ARGV[3]) == 1 then return { 'none', integer(number(epoch)) } end

local since = tonumber(ARGV[5]) or 0
local seen = ARGV[7] == '-' and '-' or '(' .. ARGV[7]
local found = redis.call('XREVRANGE', events, '+', seen, 'COUNT', 100)
local enough = #found < 100
for _, event in ipairs(found) do
  local fields = {}
  for i = 1, #event[2], 2 do fields[event[2][i]] = event[2][i + 1] end
  if (tonumber(fields.epoch) or math.huge) <= since then
    enough = true
    break
  end
  if fields.kind == 'resumed' and fields.target == ARGV[3] then return { 'none', integer(number(epoch)) } end
end
if not enough then return { 'more', integer(number(epoch)), found[1][1], found[#found][1] } end

local e = rise(epoch)
redis.call('HSET', pauses, ARGV[3], string.sub(ARGV[4], 1, -2) .. ',"epoch":' .. e .. '}')
announce(e, 're-asserted', ARGV[3], ARGV[6], 'the registry had lost it')
return { 'ok', e }
