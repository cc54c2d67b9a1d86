/** The Lua version of algorithms/smooth/smooth-warming-up.ts. */
export const smoothWarmingUp = `
function makers.smoothWarmingUp()
  local warming, intervalAt

  local function price(p, stored, permits)
    local above = stored - p.threshold
    local micros = 0
    if above > 0 then
      local taken = min(above, permits)
      micros = warming.trunc((taken * (intervalAt(p, above) + intervalAt(p, above - taken))) / 2)
      permits = permits - taken
    end
    return micros + warming.trunc(p.stable * permits)
  end

  function intervalAt(p, above)
    return p.stable + above * p.slope
  end

  local function rescaled(p, stored, most)
    return (stored * p.max) / most
  end

  warming = makeSmooth(price, rescaled)

  function warming.define(p, stable, warmup, coldFactor)
    local cold = stable * coldFactor
    local threshold = (0.5 * warmup) / stable
    local most = threshold + (2 * warmup) / (stable + cold)
    warming.set(p, stable, most, warmup / most, cold, most)
    p.threshold = threshold
    p.slope = (cold - stable) / (most - threshold)
  end

  return warming
end
`
