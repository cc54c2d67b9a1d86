/**
 * Restates algorithms/evaluation.ts and algorithms/policy-evaluation.ts, one request after the other. The reply is one
 * flat list of integers.
 */
export const evaluation = `
local CONSUME, RESERVE, CHARGE, REFUND, PEEK, RESET = 0, 1, 2, 3, 4, 5
-- The first number of the reply is the time.
local reply, size = {}, 1
-- The values of the current request.
local verb, now, cost, allowed, takes, delay, waits
local canPromise, commitOne, commitRefused, refusalCode, nextAfter
local readTickets, refund, countRefusal, respondTickets

local function respond(number)
  size = size + 1
  reply[size] = number == never and -1 or number
end

local function markWritten(p)
  if p.s.oldRecord then p.s.oldRecord = nil end
  p.scope.changed = true
end

function effectiveTime(p, last, now)
  return now < last and last - now < p.span and last or now
end

local function withLag(wait, lag)
  return wait == 0 and 0 or wait + lag
end

local function evaluate(policies, maxWait)
  delay, waits = 0, false
  for n = 1, #policies do
    local p = policies[n]
    local s = p.s
    local last, at, wait = s[1], now, 0
    if now < last then at = effectiveTime(p, last, now) end
    if verb == CHARGE then
      if not p.algorithm.fits(p, s, at, cost, 0) then wait = never end
    elseif verb ~= REFUND then
      wait = p.algorithm.wait(p, s, at, cost)
    end
    if wait > 0 then
      waits = true
      wait = wait + (at - now)
      if wait > delay and not p.shadow then delay = wait end
    end
    p.at, p.wait = at, wait
  end
  allowed = delay == 0 or (verb == RESERVE and delay <= maxWait and canPromise(policies))
  takes = allowed and verb ~= PEEK and verb ~= REFUND
end

function makers.reserve()
  -- Only one enforced policy alone can promise a future time.
  function canPromise(policies)
    local only
    for _, p in ipairs(policies) do
      if not p.shadow and (not p.punishes or p.wait > 0) then
        if only then return false end
        only = p
      end
    end
    if not only or not only.promises or only.s.carried then return false end
    return only.algorithm.fits(only, only.s, only.at, cost, only.wait - (only.at - now))
  end

  function respondTickets(policies)
    for n = 1, #policies do
      local p = policies[n]
      if p.wait == 0 then
        local since, mark, given = p.algorithm.ticket(p, p.s)
        respond(1)
        respond(since)
        respond(mark)
        respond(given)
      else
        respond(0)
      end
    end
  end
end

-- Responds with 2 if no policy waits, without the waits; else with 1 if the call is allowed, or a refusal code.
local function commit(policies, withNext)
  size = size + 1
  if takes and not waits then
    reply[size] = 2
  else
    make('refused')
    waits = true
    reply[size] = allowed and 1 or refusalCode(policies)
  end
  if verb == RESERVE then respond(delay) end
  if withNext then make('refused') end
  for n = 1, #policies do commitOne(policies[n], withNext) end
end

function commitOne(p, withNext)
  local s, at, scope, algorithm = p.s, p.at, p.scope, p.algorithm
  if p.wait == 0 and takes then
    algorithm.take(p, s, at, cost, 0)
    if s.oldRecord then s.oldRecord = nil end
    scope.changed = true
  else
    commitRefused(p)
  end
  local remaining, reset = algorithm.report(p, s, at)
  if p.first or at + reset > scope.fullAt then scope.fullAt = at + reset end
  if waits then respond(p.wait) end
  reply[size + 1], reply[size + 2] = remaining, reset + (at - now)
  size = size + 2
  if withNext then respond(nextAfter(p, remaining)) end
end

function makers.refused()
  -- Commits to a policy that does not take the call at once, or when another policy refuses it.
  function commitRefused(p)
    if verb == PEEK or verb == REFUND then return end
    local s, at, wait, algorithm = p.s, p.at, p.wait, p.algorithm
    local lag = at - now
    if allowed and not p.shadow then
      algorithm.take(p, s, at, cost, wait - lag)
      p.wait = 0
    elseif p.countRefused and (p.punishes or not s.carried) then
      algorithm.count(p, s, at, cost)
      if wait > 0 or p.punishes then p.wait = withLag(algorithm.wait(p, s, at, cost), lag) end
    elseif at < s[1] then
      algorithm.take(p, s, at, 0, 0)
    else
      return
    end
    markWritten(p)
  end

  function nextAfter(p, remaining)
    if remaining >= p.burst then return 0 end
    return p.algorithm.wait(p, p.s, p.at, remaining + 1) + (p.at - now)
  end

  -- 3 if a state was carried over for this request only, so that the next request may get another response; else 0.
  function refusalCode(policies)
    for n = 1, #policies do
      if policies[n].scope.provisional then return 3 end
    end
    return 0
  end
end

function makers.refund()
  function readTickets(policies, position)
    local tickets, present = {}, nil
    for n = 1, #policies do
      present, position = unpack('<B', ARGV[2], position)
      tickets[n] = false
      if present == 1 then
        local since, mark, given
        since, mark, given, position = unpack('<ddd', ARGV[2], position)
        tickets[n] = { since, mark, given }
      end
    end
    return tickets, position
  end

  function refund(policies, tickets)
    for n = 1, #policies do
      local p = policies[n]
      local _, reset = p.algorithm.report(p, p.s, p.at)
      if reset > 0 and (not tickets or tickets[n]) then
        if tickets then
          p.algorithm.refund(p, p.s, p.at, cost, spread(tickets[n]))
        else
          p.algorithm.refund(p, p.s, p.at, cost)
        end
        markWritten(p)
      end
    end
  end

  -- For a call that policies in another hash slot refused: penalties count it.
  function countRefusal(policies)
    for n = 1, #policies do
      local p = policies[n]
      if p.punishes then
        p.algorithm.count(p, p.s, p.at)
        markWritten(p)
        p.wait = withLag(p.algorithm.wait(p, p.s, p.at), p.at - now)
      end
    end
  end
end
`
