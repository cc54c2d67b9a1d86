/**
 * The Lua version of algorithms/evaluation/policy-evaluation.ts, for requests that charge units, renew leases (of units in flight) or give
 * units back, and for all requests that have a cost for each policy.
 */
export const verbs = `
-- Makes the functions for requests that are not plain: all but consume, reserve and peek at one cost for every policy.
function makers.verbs()
  local own, changed, keepsNothing, unitsKnown, correctionOf, close, waitToRenew, refund, countRefund, settle
  local verbs = {}
  make('refused')

  -- The policy and the state that have the units of earlier calls, with the effective time of that state.
  function own(p)
    local foreign = p.s.foreign
    if not foreign then return p, p.s, p.at end
    return foreign.policy, foreign.s, effectiveTime(foreign.policy, foreign.s[1], now)
  end

  -- Notes that the state of own(p) was changed. A foreign state (of another definition) keeps its definition.
  function changed(p)
    local foreign = p.s.foreign
    if not foreign then return markWritten(p) end
    foreign.wrote = true
    p.s = foreign.carried()
    p.at = effectiveTime(p, p.s[1], now)
    p.scope.changed = true
  end

  -- If the clock went back by the tolerance or more, gives the state the new time.
  function verbs.takeTime(p)
    local from, s, at = own(p)
    if at >= s[1] then return end
    from.algorithm.take(from, s, at, 0, 0)
    changed(p)
  end

  -- True under a limit of 0: no unit ever comes back, so none is taken.
  function keepsNothing(p)
    return p.burst == 0 and not p.s.foreign
  end

  -- How many units of the ticket can be given back at most.
  function unitsKnown(p, s, ticket)
    if p.spends then return ticket.units end
    if not p.idSlot or ticket.id <= 0 then return 0 end
    local refunded = s[p.idSlot] - ticket.id
    return refunded == 0 and ticket.units or p.idCountsRefunds and refunded > 0 and max(0, ticket.units - refunded) or 0
  end

  -- How many units a settlement charges; below 0, how many it gives back. An expired reservation has given its units back already.
  function correctionOf(p, correction, ticket)
    if not ticket or not ticket.expiry then return correction end
    local _, _, at = own(p)
    return at < ticket.expiry and correction or correction + ticket.units
  end

  function verbs.longestWait(policies)
    for n = 1, #policies do
      local p, wait = policies[n], 0
      if costs then cost = costs[n] end
      p.at = effectiveTime(p, p.s[1], now)
      if verb == SETTLE and costs then
        cost = correctionOf(p, cost, verbs.tickets[n])
        costs[n] = cost
      end
      if verb == CHARGE or (verb == SETTLE and cost > 0) then
        local from, s, at = own(p)
        if not (keepsNothing(p) or from.algorithm.fits(from, s, at, cost, 0)) then wait = never end
      elseif verb == RENEW then
        wait = waitToRenew(p, verbs.tickets[n])
      elseif verb ~= REFUND and verb ~= SETTLE then
        wait = waitNow(p, cost)
      end
      p.wait, p.settled = wait, nil
      if wait > 0 then
        waits = true
        if wait > delay and not p.shadow then delay = wait end
      end
    end
  end

  -- How long a renewal has to wait for units that its reservation no longer holds.
  function waitToRenew(p, ticket)
    local from, s, at = own(p)
    if cost == 0 or not ticket or not from.algorithm.held then return 0 end
    local still = unitsKnown(from, s, ticket) > 0 and from.algorithm.held(from, s, at, ticket.since, ticket.units) or 0
    if still >= cost then return 0 end
    return withLag(from.algorithm.wait(from, s, at, cost - still), at - now)
  end

  -- Changes the state of a policy for a request that is not plain.
  function verbs.takeMore(p, n)
    if costs then cost = costs[n] end
    if p.wait > 0 or not takes then return commitRefused(p) end
    if verb ~= CHARGE and verb ~= RENEW then
      if cost == 0 then return end
      p.algorithm.take(p, p.s, p.at, cost, 0)
      return markWritten(p)
    end
    if keepsNothing(p) then return end
    local from, s, at = own(p)
    if verb == RENEW then
      local ticket = verbs.tickets[n]
      if cost == 0 or not ticket or not from.leases then return end
      if unitsKnown(from, s, ticket) > 0 then from.algorithm.settle(from, s, at, cost, ticket.since, ticket.units) end
    end
    from.algorithm.take(from, s, at, cost, verb == RENEW and p.leases and p.span - from.span or 0)
    changed(p)
  end

  function verbs.readCosts(count, position)
    local list = { unpack('<' .. rep('d', count), ARGV[1], position) }
    verbs.silent = {}
    for n = 1, tellsLater and verb == CHARGE and count or 0 do
      if list[n] < 0 then list[n], verbs.silent[n] = 0, true end
    end
    return list, list[count + 1]
  end

  function verbs.readTickets(count, position)
    local list, present = {}, nil
    for n = 1, count do
      present, position = unpack('<B', ARGV[1], position)
      list[n] = false
      if present > 0 then
        local ticket = {}
        ticket.since, ticket.id, ticket.units, position = unpack('<ddd', ARGV[1], position)
        if present == 2 then ticket.expiry, position = unpack('<d', ARGV[1], position) end
        list[n] = ticket
      end
    end
    return list, position
  end

  -- Reads the number of a report. If the report was counted before, the request costs nothing. The number of a new report is stored.
  function verbs.readReport(count, position, broken)
    local key, number, life
    key, number, life, position = unpack('<Hdd', ARGV[1], position)
    local last = tonumber(written[key] or read[key] or 0) or 0
    if last >= number then
      for n = 1, count do costs[n] = 0 end
      number = last
    end
    if not (broken or mistyped[key]) then written[key], writtenExpiry[key] = format('%.0f', number), now + life end
    return position
  end

  -- Gives units back. @param isFlagged for a refund: true if the units are those of no reservation; for a settlement: true if policies that
  -- count refused calls keep the units that the call took
  function verbs.giveBack(policies, isFlagged)
    for n = 1, #policies do
      local p = policies[n]
      if costs then cost = costs[n] end
      if verb == REFUND then
        refund(p, isFlagged)
      elseif isFlagged and p.countRefused and not p.spends then
        close(p, verbs.tickets[n])
      else
        settle(p, verbs.tickets[n])
      end
    end
  end

  function refund(p, unreserved)
    local from, s, at = own(p)
    local _, reset = from.algorithm.report(from, s, at)
    if reset == 0 or cost == 0 then return end
    from.algorithm.refund(from, s, at, cost)
    if from.idCountsRefunds and not unreserved then countRefund(s, from.idSlot) end
    changed(p)
  end

  function countRefund(s, idSlot)
    local id = s[idSlot]
    if id > 0 then s[idSlot] = id + cost <= maxSafe and id + cost or 0 end
  end

  -- Notes that a reservation no longer expires, because it is settled before its expiry.
  function close(p, ticket)
    local _, s, at = own(p)
    if ticket and ticket.expiry and at < ticket.expiry and make('expiring').remove(s, ticket) then changed(p) end
  end

  function settle(p, ticket)
    local from, s, at = own(p)
    if ticket and p.algorithm.lapsed and p.algorithm.lapsed(at, ticket.since) then return end
    close(p, ticket)
    if cost > 0 then
      if p.wait > 0 or keepsNothing(p) then return end
      from.algorithm.take(from, s, at, cost, 0)
      p.settled = true
    else
      local units = (cost == 0 or not ticket) and 0 or min(-cost, unitsKnown(from, s, ticket))
      if units == 0 then return end
      if at < s[1] and from.tolerance > 0 then
        from.algorithm.take(from, s, at, 0, 0)
      else
        from.algorithm.settle(from, s, at, units, ticket.since, ticket.units)
      end
    end
    changed(p)
  end

  -- Counts a refusal in the second phase of a call over several hash slots (wire/two-phase.ts): penalties count it now, and so do
  -- policies with \`countRefused\`, unless they have taken its cost already, as their tickets show. Shadow policies counted it in the first.
  -- @param wait how long the call has to wait under the policies of all slots
  function verbs.countRefusal(policies, wait)
    local last = policies[#policies]
    local free = last.restarts and not last.shadow and last.algorithm.wait(last, last.s, last.at) == 0
    for n = 1, #policies do
      local p = policies[n]
      if costs then cost = costs[n] end
      if p.punishes or p.countRefused and not p.shadow and cost > 0 and not verbs.tickets[n] and not p.s.carried then
        p.algorithm.count(p, p.s, p.at, cost, wait - (p.at - now))
        markWritten(p)
      end
      if p.countRefused then p.wait = waitNow(p, cost) end
    end
    if free and last.wait > 0 then restart(last, policies) end
  end

  return verbs
end
`
