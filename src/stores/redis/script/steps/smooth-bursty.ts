/** The Lua version of algorithms/smooth/smooth-bursty.ts. */
export const smoothBursty = `
function makers.smoothBursty()
  local function price()
    return 0
  end

  local function rescaled(p, stored, most)
    return most == 0 and 0 or (stored * p.max) / most
  end

  local bursty = makeSmooth(price, rescaled)

  function bursty.define(p, stable, most)
    bursty.set(p, stable, most, stable, stable, 0)
  end

  return bursty
end
`
