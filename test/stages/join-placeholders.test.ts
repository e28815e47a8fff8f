import { randomBytes } from 'node:crypto'
import t from 'tap'
import { KeyedPlaceholders } from '../../lib/guards/keyed-placeholders.ts'
import { joinPlaceholders } from '../../lib/stages/join-placeholders.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { collect, routedCall } from '../support/stages.ts'
import type { ReversibleGuards } from '../../lib/guards/text-guards.ts'
import type { ResponseStore } from '../../lib/stores/response-store.ts'

const secret = randomBytes(32)
const create = (): KeyedPlaceholders => new KeyedPlaceholders(secret, { keyId: 'one', projectId: 'default' })
const before = create()
const name = before.nameOf('email', 'ada@example.com')

/**
 * Runs the stage on a call that continues a response.
 * @returns the placeholders of the call afterwards
 */
async function joined (continued: string | undefined, isReversible = true): Promise<KeyedPlaceholders> {
  const placeholders = create()
  const reversible: ReversibleGuards = {
    restores: () => undefined,
    open: create,
    placeholdersOf: () => (isReversible ? placeholders : undefined)
  }
  // all that it reads
  const responseStore = {
    placeholders: async (_key: string, id: string) => (id === 'resp_1' ? before.sealed() : undefined)
  } as Partial<ResponseStore> as ResponseStore
  const call = routedCall({})
  const services = { responseStore, textGuards: { layers: [], reversible } }
  const stage = joinPlaceholders(services, { stored: { continues: () => continued } })
  t.same(await collect(stage(once(call))), [call])
  return placeholders
}

t.test('the placeholders of the continued response are added', async t => {
  const placeholders = await joined('resp_1')
  t.equal(placeholders.isJoined(name), true)
  t.equal(placeholders.valueOf(name), 'ada@example.com')
})

t.test(
  'nothing is added if no response is continued, it has none, or no guard is reversible',
  async t => {
    for (const placeholders of [
      await joined(undefined),
      await joined('resp_2'),
      await joined('resp_1', false)
    ]) {
      t.equal(placeholders.size, 0)
    }
  }
)
