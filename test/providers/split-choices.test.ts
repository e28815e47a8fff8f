import t from 'tap'
import { splitChoices } from '../../lib/providers/split-choices.ts'
import type { Ask } from '../../lib/providers/provider.ts'

const ask = (n: unknown): Ask<{ readonly n?: number | undefined, readonly more: string }> =>
  ({ request: { n: n as number, more: 'x' }, route: { providerId: 'a', model: 'b', modelId: 'a/b' }, quirks: {}, streamed: false }) // as endpoints without a check pass it on
const parts = (n: unknown, max: number): unknown[] => splitChoices(ask(n), max).map(({ request }) => request.n)

t.test('a request for many choices becomes several, of which single ones do not say so', async t => {
  t.same(parts(7, 3), [3, 3, undefined])
  t.same(parts(2, 1), [undefined, undefined])
  t.strictSame(splitChoices(ask(2), 1)[0], { ...ask(2), request: { n: undefined, more: 'x' } })
})

t.test('one that fits, or asks for no number, is the same object', async t => {
  for (const n of [1, 3, undefined, '5', Number.NaN]) {
    const given = ask(n)
    t.same(splitChoices(given, 3), [given])
  }
})
