import t from 'tap'
import { parseIsoDate } from '../../lib/core/parse-iso-date.ts'

t.test('dates and times are parsed', async t => {
  t.equal(parseIsoDate('2030-12-31'), Date.UTC(2030, 11, 31))
  t.equal(parseIsoDate('2030-12-31T23:59:59+01:00'), Date.UTC(2030, 11, 31, 22, 59, 59))
  t.equal(parseIsoDate('2028-02-29'), Date.UTC(2028, 1, 29))
})

t.test('a date that does not exist is refused, as is other text', async t => {
  for (const text of ['2030-02-31', '2029-02-29', '2030-13-01', '2030-12-31T25:00:00Z', 'soon', '']) {
    t.ok(Number.isNaN(parseIsoDate(text)), text)
  }
})
