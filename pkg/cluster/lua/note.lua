-- ARGV: 3 fence, '' for who does not sweep, 4 kind, 5 target, 6 by, 7 reason. For
-- what happened outside of the registry: nothing else changes, and the epoch
-- stays, unless it was lost. Replies {ok|fenced, epoch}.
if ARGV[4] == '' or ARGV[5] == '' then return invalid('event') end
if ARGV[3] ~= '' and fenced(ARGV[3]) then return { 'fenced', integer(number(epoch)) } end
local e = integer(number(epoch))
if e == '0' then e = rise(epoch) end -- events of one registry never go back
announce(e, ARGV[4], ARGV[5], ARGV[6], ARGV[7])
return { 'ok', e }
