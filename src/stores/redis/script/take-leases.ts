/**
 * Takes more units than the call costs, which the process then spends by itself (see local/leases.ts), but no more than are left.
 * Responds with how many, and with how long all of them stay taken: the process must not spend a unit that time has given
 * back. If that time is too short to be of use, takes nothing.
 */
export const leases = `
local lease

function makers.lease()
  function lease(policies, units, shortestLife)
    local extra, life = units - cost, never
    for _, p in ipairs(policies) do
      if not p.shadow then
        -- How long all units stay taken. An algorithm without this function leases nothing.
        local staysTaken = p.algorithm.staysTaken
        local stays = staysTaken and staysTaken(p, p.s, p.at)
        extra = min(extra, stays and p.algorithm.report(p, p.s, p.at) or 0)
        life = min(life, stays or never)
      end
    end
    if not allowed or extra <= 0 or life < shortestLife then return respond(0) end
    cost = extra
    evaluate(policies, 0)
    respond(extra)
    for _, p in ipairs(policies) do
      if not p.shadow or p.wait == 0 then p.algorithm.take(p, p.s, p.at, extra, 0) end
      local _, reset = p.algorithm.report(p, p.s, p.at)
      p.scope.fullAt = max(p.scope.fullAt, p.at + reset)
    end
    respond(life)
  end
end
`
