import fc from 'fast-check'
import t from 'tap'
import { lengthMs, periodAt, windowOfBudget, type Window } from '../../lib/limits/windows.ts'
import { holds } from '../support/property.ts'
import { changesOf, changingZones, slowWindow } from '../support/slow-windows.ts'

const hour = 3_600_000

function boundsOf (window: Window, moment: string): [from: string, end: string] {
  const { fromMs, endMs } = periodAt(window, Date.parse(moment))
  return [new Date(fromMs).toISOString(), new Date(endMs).toISOString()]
}

t.test('periods are in UTC unless a time zone is set', async t => {
  const rows: ReadonlyArray<readonly [window: Window, from: string, end: string]> = [
    [{ per: 'hour' }, '2026-11-26T17:00:00.000Z', '2026-11-26T18:00:00.000Z'],
    [{ per: 'day' }, '2026-11-26T00:00:00.000Z', '2026-11-27T00:00:00.000Z'],
    [{ per: 'week' }, '2026-11-23T00:00:00.000Z', '2026-11-30T00:00:00.000Z'],
    [{ per: 'month' }, '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
    [{ per: 'day', timeZone: 'America/New_York' }, '2026-11-26T05:00:00.000Z', '2026-11-27T05:00:00.000Z'],
    [{ per: 'day', timeZone: 'Asia/Kathmandu' }, '2026-11-26T18:15:00.000Z', '2026-11-27T18:15:00.000Z'],
    [{ per: 'hour', timeZone: 'Asia/Kolkata' }, '2026-11-26T18:30:00.000Z', '2026-11-26T19:30:00.000Z'],
    [{ per: 'month', timeZone: 'Pacific/Auckland' }, '2026-10-31T11:00:00.000Z', '2026-11-30T11:00:00.000Z'],
    [
      { everyMs: 30 * 24 * hour, fromMs: Date.parse('2026-01-10T12:00:00Z') },
      '2026-11-06T12:00:00.000Z',
      '2026-12-06T12:00:00.000Z'
    ]
  ]
  for (const [window, from, end] of rows) {
    const at =
      'timeZone' in window && window.timeZone?.startsWith('Asia/') === true
        ? '2026-11-26T18:45:00Z'
        : '2026-11-26T17:06:40.123Z'
    t.same(boundsOf(window, at), [from, end], JSON.stringify(window))
  }
  t.same(periodAt({ per: 'total' }, Date.now()), { name: 'total', fromMs: 0, endMs: Infinity })
})

t.test(
  'a day has 23 or 25 hours when clocks change, and begins an hour late if midnight is skipped',
  async t => {
    const day: Window = { per: 'day', timeZone: 'Europe/Berlin' }
    t.same(boundsOf(day, '2026-03-29T10:00:00Z'), ['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'])
    t.same(boundsOf(day, '2026-10-25T10:00:00Z'), ['2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'])
    const hourThere: Window = { per: 'hour', timeZone: 'Australia/Lord_Howe' }
    t.same(
      boundsOf(hourThere, '2026-04-04T15:10:00Z'),
      ['2026-04-04T14:00:00.000Z', '2026-04-04T15:30:00.000Z'],
      'an hour and a half where clocks are set back by half an hour'
    )
    t.same(
      boundsOf(hourThere, '2026-10-03T15:10:00Z'),
      ['2026-10-03T14:30:00.000Z', '2026-10-03T16:00:00.000Z'],
      'or ahead'
    )
    t.same(boundsOf({ per: 'week', timeZone: 'Europe/Berlin' }, '2026-10-25T10:00:00Z'), [
      '2026-10-18T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z'
    ])
    t.same(boundsOf({ per: 'day', timeZone: 'America/Santiago' }, '2026-09-06T12:00:00Z'), [
      '2026-09-06T04:00:00.000Z',
      '2026-09-07T03:00:00.000Z'
    ])
  }
)

t.test('every moment lies in its period, and the next one begins where that ends', async t => {
  for (const timeZone of [
    undefined,
    'Europe/Berlin',
    'America/Santiago',
    'Australia/Lord_Howe',
    'Asia/Kathmandu'
  ]) {
    for (const per of ['hour', 'day', 'week', 'month'] as const) {
      let moment = Date.parse('2026-03-01T00:00:00Z')
      for (let step = 0; step < 200; step++) {
        moment += Math.round(29.7 * hour)
        const { fromMs, endMs } = periodAt({ per, timeZone }, moment)
        if (!(fromMs <= moment && moment < endMs)) {
          t.fail(`${per} of ${timeZone} at ${new Date(moment).toISOString()}`)
        }
        if (periodAt({ per, timeZone }, endMs).fromMs !== endMs) {
          t.fail(`${per} of ${timeZone} after ${new Date(endMs).toISOString()}`)
        }
      }
    }
  }
})

t.test('a budget is monthly by default', async t => {
  t.same(windowOfBudget({ usd: 1 }), { per: 'month' })
  t.same(windowOfBudget({ usd: 1, per: 'week', timeZone: 'Europe/Berlin' }), {
    per: 'week',
    timeZone: 'Europe/Berlin'
  })
  t.same(windowOfBudget({ usd: 1, every: '36h', from: '2026-01-01T00:00:00+01:00' }), {
    everyMs: 36 * hour,
    fromMs: Date.parse('2025-12-31T23:00:00Z')
  })
  t.same(['30d', '90m', '45s', '0d', '3w', ''].map(lengthMs), [
    30 * 24 * hour,
    1.5 * hour,
    45_000,
    NaN,
    NaN,
    NaN
  ])
})

t.test('in every time zone a period contains its moment, and the next one begins at midnight', async t => {
  const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
  const moment = fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2040, 0, 1) })
  holds(
    t,
    fc.property(zone, fc.constantFrom('day', 'week', 'month'), moment, (timeZone, per, ms) => {
      const { fromMs, endMs } = periodAt({ per, timeZone }, ms)
      const next = periodAt({ per, timeZone }, endMs)
      if (!(fromMs <= ms && ms < endMs && next.fromMs === endMs)) throw new Error(`${fromMs} to ${endMs}`)
      const shows = new Intl.DateTimeFormat('en-GB', { timeZone, timeStyle: 'medium' })
      const [before, at] = [shows.format(endMs - 1000), shows.format(endMs)]
      // If clocks change at midnight, the day begins at the first moment that they show, or before they are
      // set back.
      if (at !== '00:00:00' && before.slice(0, 2) !== '23') throw new Error(`${before} to ${at}`)
    }),
    { numRuns: 300 }
  )
})

t.test('around clock changes, periods match a clock of the zone', async t => {
  for (const timeZone of changingZones) {
    const changes = changesOf(timeZone)
    t.ok(changes.length >= 2, timeZone)
    for (const changeMs of changes) {
      for (const per of ['hour', 'day', 'week', 'month'] as const) {
        for (let ms = changeMs - 3 * hour; ms <= changeMs + 3 * hour; ms += hour / 4) {
          for (const at of [ms - 1, ms, ms + 60_000]) {
            const { fromMs, endMs } = periodAt({ per, timeZone }, at)
            const expected = slowWindow({ per, timeZone }, at)
            if (fromMs === expected.fromMs && endMs === expected.endMs) continue
            t.same({ fromMs, endMs }, expected, `${per} of ${timeZone} at ${new Date(at).toISOString()}`)
          }
        }
      }
    }
  }
})
