import t from 'tap'
import { copyString } from '../../lib/text/copy-string.ts'

t.test('the text is the same, also beyond ASCII and Latin-1', async t => {
  for (const text of ['', 'plain', 'café', '🎈 日本']) t.equal(copyString(text), text)
})

t.test('a slice no longer retains the text it was cut from', async t => {
  const kept: string[] = []
  const before = process.memoryUsage().heapUsed
  for (let count = 0; count < 50; count++) {
    const large = `${count}`.padEnd(2_000_000, 'x')
    kept.push(copyString(large.slice(0, 20)))
  }
  const grown = process.memoryUsage().heapUsed - before
  t.ok(grown < 60_000_000, `${kept.length} slices keep ${grown} bytes of 100,000,000`)
})
