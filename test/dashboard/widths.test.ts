/** Every page at common screen widths, in both themes, with the longest real names. */

import t, { type Test } from 'tap'
import type { Page } from 'playwright-core'
import { adminGateway, type AdminGateway } from '../support/admin.ts'
import { launch, noBrowser, overflow, visit } from '../support/browser.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { addLongNames, fillGateway, longest, longGuards } from './sample-data.ts'

const widths = [360, 768, 1024, 1280, 1366, 1536]

const pages = [
  '',
  '?split=group&group=key',
  'keys?status=all',
  'calls?period=all',
  'calls?key=none&model=fireworks%2Faccounts&min_cost_usd=1',
  'calls/long-1',
  `sessions/${longest.session}`,
  'stages',
  'exports',
  'models',
  'models?tab=providers',
  'projects',
  'projects/default',
  'members',
  'audit',
  'profile'
]

/**
 * Finds content that is cut off in tables: cells beyond the edge, and truncated states, buttons and numbers.
 */
const outOfSight = `[...document.querySelectorAll('.table-place')].flatMap(place => {
  const edge = place.getBoundingClientRect().right + 1
  const parts = [...place.querySelectorAll('td, th, .badge, button, a.button, .meter')].filter(part => part.closest('thead') === null || !place.classList.contains('cards'))
  return parts.filter(part => part.getBoundingClientRect().right > edge || (part.matches('.badge, button, .number') && part.scrollWidth > part.clientWidth + 1))
    .map(part => part.className + ' ' + part.textContent.slice(0, 40))
})`

/** Finds names in tables that take several lines, and a title without room for a word. */
const squeezed = `[...document.querySelectorAll('.table-place:not(.cards) .clip'), ...document.querySelectorAll('h1')].filter(name => (
  name.matches('h1') ? name.clientWidth < 100 : name.offsetHeight > 24
)).map(name => name.textContent)`

/** Finds words in cards that are broken into lines of a few letters. */
const brokenWords = `[...document.querySelectorAll('.cards td:not(.actions) > div')].filter(cell => cell.textContent.length > 12 && cell.clientWidth < 120).map(cell => cell.textContent)`

/** Finds what extends beyond the window, except for content that scrolls in its own container. */
const outOfWindow = `[...document.querySelectorAll('main *')].filter(part => (
  part.getBoundingClientRect().right > innerWidth + 1 && part.closest('.visually-hidden, .cards thead, .segments, .tabs, .textarea, pre, .uplot, .table-scroll, [popover]') === null
)).map(part => part.tagName + ' ' + part.className + ' ' + part.textContent.slice(0, 40))`

t.test('in a browser', { skip: noBrowser }, async t => {
  const gateway = await adminGateway(t, {
    providers: [
      {
        ...providerSettings('fireworks', 'fireworks'),
        baseUrl: 'https://api.fireworks.example.com/inference/v1'
      },
      providerSettings('anthropic', 'anthropic')
    ],
    guards: longGuards,
    usage: {
      ...settings().usage,
      exports: {
        [longest.key]: { format: 'csv', gzip: false, every: 'hour', directory: t.testdirName }
      }
    }
  })
  await fillGateway(gateway)
  await addLongNames(gateway)
  await addExports(gateway)
  const browser = await launch(t)
  for (const dark of [false, true]) {
    t.test(`nothing is cut off ${dark ? 'in dark mode' : 'in light mode'}`, async t => {
      const { page, faults } = await visit(browser, gateway.api.url, { dark })
      await enter(page, gateway)
      for (const path of pages) {
        await page.goto(`${gateway.api.url}/dashboard/${path}`)
        await page.locator('h1').first().waitFor()
        await page.locator('.skeleton').first().waitFor({ state: 'detached' })
        for (const width of widths) await look(t, page, `${path} at ${width}`, width)
      }
      t.same(faults, [])
      await page.context().close()
    })
  }

  t.test('the tooltip of a chart stays inside its card, even with the longest names', async t => {
    const { page } = await visit(browser, gateway.api.url)
    await enter(page, gateway)
    await page.goto(`${gateway.api.url}/dashboard/?split=group&group=key`)
    const chart = page.locator('.chart').first()
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 })
      await chart.scrollIntoViewIfNeeded()
      for (const share of [0.05, 0.45, 0.55, 0.95]) {
        const {
          x,
          y,
          width: length,
          height
        } = (await chart.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
        await page.mouse.move(x + length * share, y + height / 2)
        await chart.locator('.chart-tip').waitFor()
        const faults = await page.evaluate(`(() => {
          const tip = document.querySelector('.chart-tip'), card = tip.closest('.card').getBoundingClientRect(), { left, right } = tip.getBoundingClientRect()
          return [left < card.left, right > card.right, tip.scrollWidth > tip.clientWidth]
        })()`)
        t.same(faults, [false, false, false], `${share} of ${width}`)
      }
    }
    t.match(await chart.locator('.chart-tip').textContent(), longest.key)
    await page.context().close()
  })
})

async function look (t: Test, page: Page, name: string, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 800 })
  await page.evaluate('new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  t.ok(await overflow(page) <= 0, `${name} fits`)
  t.same(await page.evaluate(outOfSight), [], name)
  t.same(await page.evaluate(outOfWindow), [], name)
  t.same(await page.evaluate(squeezed), [], name)
  if (width === 360) t.same(await page.evaluate(brokenWords), [], name)
}

/** Signs the owner in. */
async function enter (page: Page, { api, admin }: AdminGateway): Promise<void> {
  const { token } = await admin.accounts.createOwnerLink()
  await page.goto(`${api.url}/dashboard/#/link/${token}`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('main#content').waitFor()
}

/** Adds a written and a failed export, with names and an error of maximum length. */
async function addExports ({ database }: AdminGateway): Promise<void> {
  const row = { target: longest.key, calls: 1e6, sums: null, next_at_ms: Date.now() }
  await database.query.insertInto('usage_exports').values([
    {
      ...row,
      from_ms: 0,
      until_ms: 3_600_000,
      state: 'written',
      file: 'usage-2026-11-27T00-00-00Z-2026-11-28T00-00-00Z.jsonl.gz',
      revision: 12,
      rows: 123_456_789,
      bytes: 98_765_432_100,
      attempts: 0,
      error: null,
      written_at_ms: Date.now()
    },
    {
      ...row,
      from_ms: 3_600_000,
      until_ms: 7_200_000,
      state: 'waiting',
      file: null,
      revision: 0,
      rows: 0,
      bytes: 0,
      attempts: 1234,
      error: `the bucket answered with status 403: ${'AccessDenied '.repeat(20)}`,
      written_at_ms: null
    }
  ]).execute()
}
