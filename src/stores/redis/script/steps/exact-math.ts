/** The Lua version of the function mulDiv in algorithms/exact-math.ts. */
export const mulDiv = `
local function mulDiv(a, b, c)
  local product = a * b
  if product <= maxSafe then return floor(product / c) end
  local quotient, rest, place = 0, 0, 562949953421312
  while place >= 1 do
    local digit = floor(a / place) % 128
    rest = rest * 128 + digit * b
    local q = floor(rest / c)
    quotient = quotient * 128 + q
    rest = rest - q * c
    place = place / 128
  end
  return quotient
end
`

/** The Lua version of algorithms/exact-math.ts, and local names for the library functions that the other parts call. */
export const exactMath: string = `
local floor, ceil, max, min, never = math.floor, math.ceil, math.max, math.min, math.huge
local sub, byte, char, rep, concat = string.sub, string.byte, string.char, string.rep, table.concat
local call, format = redis.call, string.format
local pack, unpack, spread = struct.pack, struct.unpack, unpack
local maxSafe, maxFactor = 9007199254740991, 35184372088832
-- The clocks of machines are assumed to differ by less than this (see effective-time.ts), in microseconds.
local clockSkew = 60000000

${mulDiv}
-- Rarely used functions are created on first use, because each run of the script creates its functions again.
local makers, made = {}, {}

local function make(name)
  if not made[name] then
    if not makers[name] then makers.others() end
    made[name] = makers[name]() or true
  end
  return made[name]
end

-- Makes sure that the other functions of an algorithm are created when the script first needs one of them.
local function lazily(algorithm, makeRest)
  return setmetatable(algorithm, {
    __index = function(_, name)
      setmetatable(algorithm, nil)
      makeRest()
      return algorithm[name]
    end,
  })
end

local ratioUp, ratioDown, bookings

-- The function \`drained\` of algorithms/buckets/level-history.ts: the level falls by p.rate in each p.per microseconds.
local function drained(p, level, elapsed)
  if elapsed <= 0 then return level end
  level = level - (elapsed / p.per) * p.rate
  return level > 0 and level or 0
end

function makers.ratioUp()
  local function gcd(a, b)
    while b ~= 0 do a, b = b, a % b end
    return a
  end

  function ratioUp(a, times, per)
    local divisor = gcd(times, per)
    local c = per / divisor
    local whole = floor(times / divisor / c)
    if c > maxFactor then return a == 0 and 0 or never end
    return a * whole + (a - mulDiv(a, c - (times / divisor - whole * c), c))
  end

  function ratioDown(a, times, per)
    local divisor = gcd(times, per)
    local c = per / divisor
    local whole = floor(times / divisor / c)
    if c > maxFactor then return 0 end
    return min(maxSafe, a * whole + mulDiv(a, times / divisor - whole * c, c))
  end
end

-- The rest of the script is one function, because Lua then finds the names above faster.
return (function()
`
