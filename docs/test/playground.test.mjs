import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { policyFrom } from '../../lab/engine/policy-from.mjs'
import { simulate, workloadOf } from '../../lab/engine/simulate.mjs'
import { launch, openPage } from './browser.mjs'
import { serve } from './site.mjs'

let site
let browser
let page
let faults

beforeAll(async () => {
  site = await serve()
  browser = await launch()
})
afterAll(async () => {
  await browser.close()
  site.close()
})

/** Opens the playground with these settings. */
async function open(settings = {}, options = {}) {
  ;({ page, faults } = await openPage(browser, { viewport: { width: 1280, height: 1400 }, ...options }))
  await page.goto(`${site.url}/playground?${new URLSearchParams(settings)}`)
  await page.waitForSelector('[data-ready] [data-lane="B"]') // the server has rendered a playground that does nothing yet
}

afterEach(async () => {
  await page.close()
  expect(faults, 'errors in the console').toEqual([])
})

const control = (name) => page.locator(`[data-control="${name}"]`)

/** The numbers of a policy as the page shows them. */
async function numbersOf(lane) {
  const number = async (name) =>
    Number(await page.locator(`[data-lane="${lane}"] [data-number="${name}"]`).textContent())
  return { admitted: await number('admitted'), refused: await number('refused'), most: await number('most') }
}

describe('the numbers of the page are those of the core', () => {
  test.each([
    ['steady', { rate: 25, seconds: 20, clients: 1, seed: 1 }],
    ['poisson', { rate: 30, seconds: 30, clients: 3, seed: 7 }],
    ['boundary', { rate: 20, seconds: 20, clients: 1, seed: 1 }],
    ['flash-crowd', { rate: 8, seconds: 30, clients: 2, seed: 9 }],
    ['retry-jitter', { rate: 20, seconds: 30, clients: 60, seed: 3 }],
  ])('%s', async (workload, terms) => {
    const policies = { a: '10/1s', b: workload === 'steady' ? '200/day Asia/Tokyo' : '7/1s burst 15' }
    await open({ workload, ...terms, ...policies })
    await control('finish').click()
    for (const [lane, text] of Object.entries(policies)) {
      const made = policyFrom(text)
      const requests = workloadOf(workload, { ...terms, duration: terms.seconds * 1000 }, made)
      const { admitted, refused, mostInAnyWindow: most } = await simulate(requests, made, { sharedKey: true })
      expect(admitted + refused).toBeGreaterThan(50)
      expect(await numbersOf(lane.toUpperCase())).toEqual({ admitted, refused, most })
    }
  })
})

describe('what the page shows of a state', () => {
  const bars = async (lane) => page.locator(`[aria-label="Policy ${lane}"] .bar-value`).allTextContents()

  test.each([
    ['10/1s burst 10', '1.5 / 10'], // half a unit has drained in 50 ms
    ['10/1s fixed-window', '2 / 10'],
    ['10/1s sliding-log', '2 / 10'],
  ])('%s', async (text, second) => {
    await open({ a: text, workload: 'steady', rate: 20, seconds: 10 })
    await control('step').click()
    expect(await bars('A')).toEqual(['1 / 10'])
    await control('step').click()
    expect(await bars('A')).toEqual([second])
  })

  test('the two windows of a sliding window, and the segments', async () => {
    await open({ a: '10/1s', b: '10/1s segmented-window', workload: 'boundary', seconds: 2 })
    await control('step').click()
    await control('step').click()
    // Ten were admitted just before the end of the first window: now the previous one has ten, and nothing has faded yet.
    expect(await bars('A')).toEqual(['10 / 10', '0 / 10', '10 / 10'])
    expect((await bars('B')).slice(0, 2)).toEqual(['0 / 10', '10 / 10'])
  })
})

test('the address holds the settings, and opens them again', async () => {
  await open()
  await control('workload').selectOption('drawn')
  await control('policy-A').fill('3/1s sliding-log')
  await control('policy-A').blur()
  await control('speed').selectOption('5')
  await page.getByRole('slider').first().focus()
  await page.keyboard.press('PageUp')
  await control('finish').click()
  const shown = await numbersOf('A')
  const address = page.url()
  await page.goto('about:blank')
  await page.goto(address)
  await page.waitForSelector('[data-ready] [data-lane="B"]') // the server has rendered a playground that does nothing yet
  expect(await control('policy-A').inputValue()).toBe('3/1s sliding-log')
  expect(await control('workload').inputValue()).toBe('drawn')
  expect(await control('speed').inputValue()).toBe('5')
  await control('finish').click()
  expect(await numbersOf('A')).toEqual(shown)
})

test('settings of an address that make no sense are the defaults', async () => {
  await open({ workload: 'quiet', rate: '-1', seconds: 'x', speed: '9', drawn: '1.2', a: 'ten' })
  expect(await control('workload').inputValue()).toBe('boundary')
  expect(await control('rate').inputValue()).toBe('20')
  expect(await page.locator('[data-error="A"]').textContent()).toContain("Write '100/15m'")
  await control('finish').click()
  expect((await numbersOf('B')).admitted).toBeGreaterThan(0)
})

describe('an access log', () => {
  const lines = Array.from({ length: 60 }, (_, n) => {
    const second = String(Math.floor(n / 12)).padStart(2, '0')
    return `198.51.100.${n % 3} - - [05/Mar/2026:09:08:${second} +0000] "GET / HTTP/1.1" 200 12`
  })
  const text = `${lines.join('\n')}\nrubbish\n`

  /** Drops a file on the playground, as a browser does: it asks while the file is above, and then drops it. */
  async function drop(name, bytes) {
    const transfer = await page.evaluateHandle(
      ([name, base64]) => {
        const transfer = new DataTransfer()
        transfer.items.add(new File([Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))], name))
        return transfer
      },
      [name, Buffer.from(bytes).toString('base64')],
    )
    const accepted = await page.locator('.playground').evaluate((element, dataTransfer) => {
      const over = new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true })
      element.dispatchEvent(over)
      return over.defaultPrevented // else the browser opens the file instead
    }, transfer)
    expect(accepted).toBe(true)
    await page.locator('[data-lane="B"]').dispatchEvent('drop', { dataTransfer: transfer })
  }

  const choose = (name, bytes) =>
    control('file').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(bytes) })

  test.each([
    ['dropped', drop, text],
    ['dropped, compressed', drop, gzipSync(text)],
    ['chosen', choose, text],
  ])('that is %s is played, by client address', async (_way, give, bytes) => {
    await open({ a: '2/1s fixed-window', b: '2/1s' })
    const sent = []
    const ofSite = (request) => request.method() === 'GET' && request.url().startsWith(`${site.url}/assets/`)
    page.on('request', (request) => ofSite(request) || sent.push(request.url()))
    await give('access.log', bytes)
    await page.locator('[data-message]', { hasText: 'access.log: 61 lines, 1 of them bad, 3 clients.' }).waitFor()
    await control('finish').click()
    // Five seconds, three clients, four requests each.
    expect(await numbersOf('A')).toEqual({ admitted: 30, refused: 30, most: 2 })
    expect(sent, 'it stays in the page').toEqual([])
  })

  test('goes along in the copied link, as times and numbers in the part that no browser sends', async () => {
    await open({ a: '2/1s fixed-window', b: '2/1s' })
    await drop('access.log', text)
    await page.locator('[data-message]', { hasText: '3 clients' }).waitFor()
    await control('link').click()
    await page.waitForURL(/#log=/)
    const { hash, href, search } = new URL(page.url())
    expect([hash.length < 400, search.includes('log=')]).toEqual([true, false])
    await page.goto('about:blank')
    await page.goto(href)
    await page.waitForSelector('[data-ready] [data-lane="B"]') // the server has rendered a playground that does nothing yet
    await page.waitForFunction(() => document.querySelector('[data-number="refused"]').textContent === '30')
    expect(await numbersOf('A')).toEqual({ admitted: 30, refused: 30, most: 2 })
    expect(await page.locator('output.time').textContent()).toContain('09:08:04')
  })

  test('that a link names without holding it is said', async () => {
    await open({ workload: 'log' })
    await page.locator('[data-message]', { hasText: 'The log of this link is not in the link.' }).waitFor()
    expect(await control('workload').inputValue()).toBe('boundary')
  })

  test('of no known format changes nothing', async () => {
    await open({ a: '2/1s fixed-window' })
    await drop('holiday.txt', 'sun, sea\n')
    await page.locator('[data-message]', { hasText: 'No line of holiday.txt has a known format.' }).waitFor()
    expect(await control('workload').inputValue()).toBe('boundary')
  })
})

describe('the picture', () => {
  /** How many pixels of a column of the canvas have the colour of an admitted request. */
  const heightOf = (lane) =>
    page.locator(`[aria-label="Policy ${lane}"] canvas`).evaluate((canvas) => {
      const { width, height } = canvas
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height)
      const isDot = (x, y) => {
        const at = 4 * (y * width + x)
        return data[at] === 0 && data[at + 1] === 0x72 && data[at + 2] === 0xb2
      }
      let [top, bottom] = [height, 0]
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) if (isDot(x, y)) [top, bottom] = [Math.min(top, y), Math.max(bottom, y)]
      }
      return bottom - top
    })

  test('opens played to its end, and twenty are twice as high as ten', async () => {
    await open()
    expect((await numbersOf('B')).admitted).toBeGreaterThan(50)
    expect((await heightOf('B')) / (await heightOf('A'))).toBeCloseTo(2, 0)
  })

  test('has three policies side by side, and their algorithms are chosen from a list', async () => {
    await open()
    await control('add').click()
    await control('algorithm-C').selectOption('segmented-window')
    expect(await control('policy-C').inputValue()).toBe('10/1s segmented-window')
    await control('remove-B').click()
    await control('add').click()
    const boxes = await page.locator('.lane').evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top))
    expect(boxes).toHaveLength(3)
    expect(new Set(boxes).size).toBe(1)
  })

  test('goes back in time, with the numbers and the state of that time', async () => {
    await open({ workload: 'steady', rate: 20, seconds: 10, a: '10/1s fixed-window' })
    await control('time').fill('420')
    expect(await numbersOf('A')).toEqual({ admitted: 9, refused: 0, most: 9 })
    await page.locator('[data-now="A"]', { hasText: 'Now 1 remain. 9 of 10 units are used' }).waitFor()
    await control('time').fill('900')
    expect(await numbersOf('A')).toEqual({ admitted: 10, refused: 9, most: 10 })
  })

  test('says the reason of a request that is pointed at, in the words of inspect', async () => {
    await open({ workload: 'steady', rate: 20, seconds: 2, a: '10/1s fixed-window' })
    const reason = page.locator('[data-reason="A"]')
    const canvas = page.locator('[aria-label="Policy A"] canvas')
    const { width, height } = await canvas.boundingBox()
    await canvas.hover({ position: { x: width * 0.35, y: height * 0.75 } })
    await page.waitForFunction(() =>
      / at 0\.\d+ s: refused\. /.test(document.querySelector('[data-reason="A"]').textContent),
    )
    expect(await reason.textContent()).toContain('a call of one unit is refused for')
  })

  test.each(['retry', 'retry-jitter', 'driver', 'bursts', 'flash-crowd', 'tokens'])(
    'the workload %s is chosen with numbers that refuse something',
    async (workload) => {
      await open(workload === 'tokens' ? { a: '10000/1m' } : {})
      await control('workload').selectOption(workload)
      const { admitted, refused } = await numbersOf('A')
      expect(Math.min(admitted, refused)).toBeGreaterThan(9)
    },
  )

  test('each problem shows something', async () => {
    await open()
    const problems = await control('problem').locator('option:not([disabled])').allTextContents()
    for (const problem of problems) {
      await control('problem').selectOption(problem)
      const { admitted, refused } = await numbersOf('A')
      expect(Math.min(admitted, refused), problem).toBeGreaterThan(9)
    }
  })
})

test('the keyboard alone plays, steps and draws', async () => {
  await open({ workload: 'steady', rate: 30, seconds: 5 })
  await control('workload').focus()
  const reached = []
  for (let n = 0; n < 16; n++) {
    await page.keyboard.press('Tab')
    reached.push(await page.evaluate(() => document.activeElement.dataset.control))
  }
  expect(reached).toEqual(
    expect.arrayContaining(['rate', 'seconds', 'play', 'step', 'finish', 'restart', 'speed', 'policy-A', 'policy-B']),
  )
  await control('step').focus()
  await page.keyboard.press('Enter')
  expect((await numbersOf('A')).admitted).toBe(1)
  await control('play').focus()
  await page.keyboard.press('Space')
  await page.waitForFunction(
    () => Number(document.querySelector('[data-lane="A"] [data-number="admitted"]').textContent) > 5,
  )
  await page.keyboard.press('Space')
  expect(await control('play').textContent()).toBe('Play')
})

test('a line is drawn with the pointer', async () => {
  await open({ workload: 'drawn' })
  const box = await page.locator('.draw').boundingBox()
  await page.mouse.move(box.x + 4, box.y + box.height - 4)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 30 })
  await page.mouse.up()
  const rates = await page.getByRole('slider').evaluateAll((all) => all.map((each) => Number(each.ariaValueNow)))
  expect(rates[0]).toBeLessThan(6)
  expect(rates[11]).toBeGreaterThan(24)
  expect(rates.slice(0, 12)).toEqual(rates.slice(0, 12).toSorted((a, b) => a - b))
})

describe('at 1,000 requests a second', () => {
  /** The milliseconds between the frames of a while. */
  const intervals = (milliseconds) =>
    page.evaluate(async (milliseconds) => {
      const times = []
      const end = performance.now() + milliseconds
      while (performance.now() < end) times.push(await new Promise(requestAnimationFrame))
      return times.slice(1).map((time, n) => time - times[n])
    }, milliseconds)
  const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]

  // A busy machine may show less than 60. Then the playground must not be slower than the same page that stands still.
  test('60 frames a second are shown', async () => {
    await open({ workload: 'steady', rate: 1000, seconds: 60 })
    const still = await intervals(2000)
    await control('play').click()
    await page.waitForTimeout(2000) // until the time line is full
    const playing = await intervals(6000)
    expect(Number(await page.locator('[data-lane="A"] [data-number="admitted"]').textContent())).toBeGreaterThan(50)
    expect(median(playing)).toBeLessThan(1.25 * Math.max(1000 / 60, median(still)))
  })

  test('a frame takes a small part of the 16 ms that it has', async () => {
    await open({ workload: 'steady', rate: 1000, seconds: 60 })
    const client = await page.context().newCDPSession(page)
    await client.send('Performance.enable', { timeDomain: 'threadTicks' }) // CPU time: the machine may be busy
    const busy = async () => {
      const { metrics } = await client.send('Performance.getMetrics')
      return metrics.find(({ name }) => name === 'TaskDuration').value
    }
    await control('play').click()
    await page.waitForTimeout(3000)
    const before = await busy()
    const frames = (await intervals(2000)).length
    expect(frames).toBeGreaterThan(20)
    expect(((await busy()) - before) / frames).toBeLessThan(0.012)
  })
})

test('a phone shows the whole playground without sideways scrolling', async () => {
  await open({}, { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true })
  await control('finish').click()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
})

test('the code of each framework is shown for policy A', async () => {
  await open({ a: '3/1s sliding-log' })
  for (const framework of ['Express', 'Fastify', 'Koa', 'Hono', 'No framework']) {
    await control('framework').selectOption(framework)
    expect(await page.locator('.code pre').textContent()).toContain("'3/1s sliding-log'")
  }
})
