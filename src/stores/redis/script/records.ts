/**
 * The packed value of a key, which has a record for each policy. A record is
 *
 * - the size of the state: 1 byte. For a state of more than 253 bytes and for a log, this byte is `narrow` or `wide`, and the
 *   size follows after the head as 4 bytes
 * - the head: the length of the definition, the policy's id (from the policy's name), the definition (kind and numbers)
 * - the state: 7 bytes per number, or 8 if numbers may be fractions; the last number is not stored if it is 0 and no steps (lowest levels)
 *   and bookings (waiting reservations; bookings.ts) follow
 *
 * Any other value is broken: a text of another program, an incomplete record, or the layout of another version of headgate. Calls
 * on a key with such a value fail. The value is never overwritten, and only a reset deletes it.
 *
 * The script finds a state by the id of the policy, and reads it by the definition in the record. If the record's definition differs from
 * the policy's definition, the state is called foreign. Units of a foreign state are given back and charged under the definition in the
 * record. An admitted call converts a foreign state to the policy. If the kind is unknown, the value is broken, because another version has
 * written the value. Records of policies that are not in the request belong to other plans (sets of policies), or to other versions of the
 * application. Such records stay until they expire.
 *
 * The usual value contains only the records of one scope's policies, in the order of the policies. The script recognises the usual value by
 * its length and heads. The script parses any other value record by record.
 */
export const records = `
local narrow, wide = 254, 255
-- Kinds are below 32. A version of headgate with another layout of records adds 32 (or a multiple) to the kind.
local layouts = 32
-- The kind in the record of a ban by an operator. No algorithm has this kind.
local banKind = 31
local carry, waitCarried, resetCarried, revive, define, kinds, effectiveTime, parseRecords, margin

local function newState(p)
  if p.grows then return p.algorithm.new() end
  local s = {}
  for n = 1, p.slots do s[n] = 0 end
  return s
end

-- The record of a state. If no call changed the state, it is the old record.
local function packRecord(p, s)
  if s.oldRecord then
    local foreign = s.foreign
    if not (foreign and foreign.wrote) then return s.oldRecord end
    return make('parseRecords').pack(foreign.policy, foreign.head, foreign.s)
  end
  if p.grows then
    local payload = p.algorithm.save(s)
    return char(s.form) .. p.head .. pack('<I4', #payload) .. payload
  end
  local slots = p.slots
  if s[slots] ~= 0 then
    if s.more then return make('parseRecords').pack(p, p.head, s) end
    return pack(p.longFormat, p.longHead, spread(s, 1, slots))
  end
  if slots > 5 then return pack(p.shortFormat, p.shortHead, spread(s, 1, slots - 1)) end
  return pack(p.shortFormat, p.shortHead, s[1], s[2], s[3], s[4])
end

-- Reads the state of policy \`p\`, if the record at \`position\` is the policy's. Returns the position after it, or nil.
local function readRecord(p, value, position)
  local s, size, head = p.buffer, p.shortSize, nil
  if #value - position + 1 < size then return nil end
  head, s[1], s[2], s[3], s[4], s[5] = unpack(p.shortFormat, value, position)
  if head == p.shortHead then
    s[p.slots] = 0
  else
    size = p.longSize
    if #value - position + 1 < size then return nil end
    head, s[1], s[2], s[3], s[4], s[5], s[6] = unpack(p.longFormat, value, position)
    if head ~= p.longHead then return nil end
  end
  if s.more then s.more = nil end
  p.s = s
  return position + size
end

-- Reads the states if the value contains only the records of these policies, in their order. Else returns false.
local function readRecords(scope, value)
  local position = 1
  for n = 1, #scope do
    if not scope[n].buffer then return false end
    position = readRecord(scope[n], value, position)
    if not position then return false end
  end
  return position > #value
end

function makers.parseRecords()
  local function unpackState(p, value, position, size, form)
    if p.grows then return p.algorithm.load(value, position, size, form) end
    local bytes = p.algorithm.numberFormat and 8 or 7
    local count = size / bytes
    local s = { unpack('<' .. rep(p.algorithm.numberFormat or 'i7', count), value, position) }
    if count > p.slots then s.more = { spread(s, p.slots + 1, count) } end
    for n = count + 1, p.slots + 1 do s[n] = 0 end
    return s
  end

  -- When the key has its full quota under the definition in the record. The record is not needed after that time.
  local function fullAtOf(from, s, now)
    local at = effectiveTime(from, s[1], now)
    local _, reset = from.algorithm.report(from, s, at)
    return at + reset
  end

  -- The time until Redis deletes the key, in microseconds. Records of unknown kind are kept for this time. If the Redis user
  -- may not run PTTL, the time is 366 days, the longest window.
  local function lifeLeft(key)
    local life = redis.pcall('PTTL', KEYS[key])
    return type(life) == 'number' and life * 1000 or 366 * 86400000000
  end

  local function copyOf(s)
    local copy = {}
    for name, value in pairs(s) do copy[name] = value end
    if s.more then copy.more = { spread(s.more) } end
    return copy
  end

  -- Converts the state of a record with another definition. A key that has its full quota is converted to a new state, because
  -- Redis may delete such a key at any time, and no decision may depend on that.
  local function carryOver(p, from, old, record, expires, now)
    local s
    local lasting = expires > now or old[1] > now
    local foreign = { policy = from, s = old, head = sub(record, 2, 6 + byte(record, 2)) }
    function foreign.carried()
      s = carry(p, from, copyOf(old), now)
      s.oldRecord, s.expires, s.carried = record, fullAtOf(from, old, now), lasting and not p.retunes
      s.foreign = lasting and foreign
      return s
    end
    return foreign.carried()
  end

  -- The record of a state with steps or bookings, or of a changed state under another definition than the policy's.
  local function packAny(p, head, s)
    if p.grows then
      local payload = p.algorithm.save(s)
      return char(s.form) .. head .. pack('<I4', #payload) .. payload
    end
    local number = p.algorithm.numberFormat or 'i7'
    local count = s[p.slots] == 0 and p.slots - 1 or p.slots
    local bytes = pack('<' .. rep(number, count), spread(s, 1, count))
    if s.more then bytes = bytes .. pack('<' .. rep(number, #s.more), spread(s.more)) end
    if #bytes < narrow then return char(#bytes) .. head .. bytes end
    return char(narrow) .. head .. pack('<I4', #bytes) .. bytes
  end

  -- Calls \`visit\` for each record of a value, with the id, the definition, the position of the state, and the record.
  local function each(value, visit)
    local at, length = 1, #value
    while at <= length do
      local form, defined = byte(value, at, at + 1)
      local id, definition = sub(value, at + 2, at + 5), sub(value, at + 6, at + 5 + defined)
      local start, size = at + 6 + defined, form
      if form < 7 or byte(definition) >= layouts then error('unknown layout') end
      if form >= narrow then size, start = unpack('<I4', value, start) end
      if start + size - 1 > length then error('cut record') end
      visit(id, definition, start, size, form, sub(value, at, start + size - 1))
      at = start + size
    end
  end

  -- Loads the states of a scope's policies from a value. Records of other policies are stored, to be written again unchanged.
  function parseRecords(scope, value, now)
    local policyOf, others = {}, nil
    for _, p in ipairs(scope) do policyOf[sub(p.head, 2, 5)] = p end
    each(value, function(id, definition, start, size, form, record)
      local p = policyOf[id]
      if byte(definition) == banKind then
        scope.ban = make('bans').read(value, start, size)
      elseif p and sub(p.head, 6) == definition then
        p.s = unpackState(p, value, start, size, form)
      else
        make('carry')
        local from = revive(definition)
        if p and not from then error('unknown kind') end
        local s = from and unpackState(from, value, start, size, form)
        local expires = from and fullAtOf(from, s, now) or now + lifeLeft(scope.key) - margin
        if p then
          p.s, scope.provisional = carryOver(p, from, s, record, expires, now), true
        elseif not from or expires > now then
          others = others or {}
          others[#others + 1] = { record, expires }
        end
      end
    end)
    scope.others = others
  end

  return { pack = packAny, each = each, unpackState = unpackState, fullAt = fullAtOf, lifeLeft = lifeLeft }
end
`
