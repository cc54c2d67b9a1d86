/** The Lua version of algorithms/evaluation/tried-costs.ts, and of the functions of evaluation.ts for a request with a list of costs. */
export const triedCosts = `
function makers.list()
  local list = {}
  -- The costs, each a list with a cost for each policy; and for each refused cost, the place of its policy and its wait.
  local alternatives, refusals

  -- The enforced policy with the longest wait.
  local function refusalOf(policies, waitOf)
    local refusal
    for n, p in ipairs(policies) do
      local wait = waitOf(p, n)
      if not p.shadow and (not refusal or wait > refusal.wait) then refusal = { place = n, wait = wait } end
    end
    return refusal
  end

  -- The index of the first cost with the shortest wait, after all costs were refused.
  local function shortest()
    local best = 1
    for n = 2, #refusals do
      if refusals[n].wait < refusals[best].wait then best = n end
    end
    return best
  end

  -- The cost by which a refusal is counted: the cost with the shortest wait. If it is 0 for a policy, the policy's first cost above 0.
  local function costsOfRefusal(policies)
    local merged = {}
    for n = 1, #policies do
      merged[n] = alternatives[shortest()][n]
      for _, each in ipairs(alternatives) do
        if merged[n] == 0 then merged[n] = each[n] end
      end
    end
    return merged
  end

  -- Computes the waits of all costs again, after the refusal was counted.
  local function waitAgain(policies)
    for n, each in ipairs(alternatives) do
      refusals[n] = refusalOf(policies, function(p, place) return waitNow(p, each[place]) end)
    end
    costs = costsOfRefusal(policies)
    for n, p in ipairs(policies) do p.wait = waitNow(p, costs[n]) end
  end

  function list.read(count, policies, position)
    alternatives = {}
    for n = 1, count do alternatives[n], position = verbs.readCosts(#policies, position) end
    return position
  end

  -- Evaluates the costs in their order until a cost is admitted. If all costs are refused, the request is refused once.
  function list.evaluateFirst(policies, maxWait)
    refusals = {}
    for n = 1, #alternatives do
      costs = alternatives[n]
      evaluate(policies, maxWait)
      if allowed then return end
      refusals[n] = refusalOf(policies, function(p) return p.wait end)
    end
    costs = costsOfRefusal(policies)
    evaluate(policies, maxWait)
    allowed, takes, delay = false, false, refusals[shortest()].wait
  end

  -- Adds to the reply how many costs were refused; for each of them, the place of the policy and the wait.
  function list.commitFirst(policies)
    if #refusals == #alternatives then waitAgain(policies) end
    respond(#refusals)
    for _, refusal in ipairs(refusals) do
      respond(refusal.place)
      respond(refusal.wait)
    end
  end

  return list
end
`
