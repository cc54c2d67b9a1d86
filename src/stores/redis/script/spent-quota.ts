/** The Lua version of algorithms/evaluation/spent-quota.ts, for penalties with `on: 'spent'`. */
export const spentQuota = `
function makers.spent()
  local spent = {}
  local counts, isWatched

  -- Notes that a reservation may give its units back. Returns the time of its ticket.
  function spent.hold(p)
    local since = p.algorithm.hold(p, p.s, p.at, cost)
    local _, reset = p.algorithm.report(p, p.s, p.at)
    p.scope.fullAt = max(p.scope.fullAt, p.at + reset)
    markWritten(p)
    return since
  end

  -- True if the request has counted units that no reservation can give back: it has taken them, or has settled a reservation.
  function counts(policies)
    if verb == SETTLE then return allowed and costs[#policies] < 0 end
    return takes and verb ~= RESERVE and verb ~= RENEW
  end

  -- Begins the ban of a key. Returns how long it lasts; 0 if no ban begins.
  function spent.ban(penalty, policies)
    if not counts(policies) then return 0 end
    local _, _, open = penalty.algorithm.report(penalty, penalty.s, penalty.at)
    local isSpent = false
    for n, p in ipairs(policies) do
      local units = costs and costs[n] or cost
      if verb == SETTLE then units = verbs.tickets[n] and units + verbs.tickets[n].units or 0 end
      if units > 0 and p.wait == 0 and p.burst > 0 and isWatched(p, penalty) then
        local remaining, _, used = p.algorithm.report(p, p.s, p.at)
        if (used or p.burst - remaining) - open >= p.burst then isSpent = true end
      end
    end
    local duration = isSpent and penalty.algorithm.spend(penalty, penalty.s, penalty.at) or 0
    if duration == 0 then return 0 end
    markWritten(penalty)
    return duration + (penalty.at - now)
  end

  function isWatched(p, penalty)
    if p.scope ~= penalty.scope or p.punishes then return false end
    return not (p.shadow and not penalty.shadow) and not p.leases and not p.paysLater
  end

  -- Resets the other policies of the key that would have their full quota at the end of the ban; with the rule \`restart\`, all.
  function spent.restart(penalty, policies, duration)
    for _, p in ipairs(policies) do
      if isWatched(p, penalty) then
        local _, reset = p.algorithm.report(p, p.s, p.at)
        if penalty.restarts or reset + (p.at - now) <= duration then
          p.s = newState(p)
          markWritten(p)
        end
      end
    end
  end

  return spent
end
`
