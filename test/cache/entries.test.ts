import t from 'tap'
import {
  MemoryEntries,
  SealedEntries,
  type RequestDigest,
  type SharedTexts
} from '../../lib/cache/entries.ts'
import { until } from '../support/until.ts'

function digest (name: string, byte = 1): RequestDigest {
  return { name, encryptionKey: Buffer.alloc(32, byte) }
}

t.test('memory is limited, and the least recently read entry is evicted', async t => {
  const entries = new MemoryEntries(10_000)
  for (const name of ['a', 'b', 'c', 'd']) entries.set(digest(name), name.repeat(1000), 60_000)
  t.equal(entries.size, 4)
  t.equal(entries.get(digest('a')), 'a'.repeat(1000))
  entries.set(digest('e'), 'e'.repeat(1000), 60_000)
  t.same(
    ['a', 'b', 'c', 'd', 'e'].map(name => entries.get(digest(name)) !== undefined),
    [true, false, true, true, true]
  )
  entries.set(digest('a'), 'short', 60_000)
  t.equal(entries.get(digest('a')), 'short', 'a text replaces an earlier one')
  t.ok(entries.bytes <= 10_000 && entries.bytes > 6000)
  entries.set(digest('large'), 'x'.repeat(10_000), 60_000)
  t.same([entries.size, entries.bytes], [0, 0], 'a larger text is not stored, and evicts all')
})

t.test('an entry expires', async t => {
  const entries = new MemoryEntries(10_000)
  entries.set(digest('a'), 'text', 1)
  await until(() => entries.get(digest('a')) === undefined, 'the text to be gone')
  t.same([entries.size, entries.bytes], [0, 0])
})

t.test('a shared entry can be read only with the digest of its request', async t => {
  const texts = new Map<string, string>()
  const shared: SharedTexts = {
    get: async name => texts.get(name),
    set: (name, text) => {
      texts.set(name, text)
    }
  }
  const entries = new SealedEntries(shared)
  entries.set(digest('a'), 'a secret of Zoë', 1000)
  t.equal(await entries.get(digest('a')), 'a secret of Zoë')
  t.notOk(Buffer.from(texts.get('a') ?? '', 'base64').includes('secret'))
  t.equal(await entries.get(digest('a', 2)), undefined, 'another request')
  t.equal(await entries.get(digest('b')), undefined, 'none')
  texts.set('b', texts.get('a') ?? '')
  t.equal(await entries.get(digest('b')), undefined, 'an entry copied to another name')
  for (const text of ['', 'AAAA', 'not base64', `${texts.get('a')?.slice(0, -4)}AAAA`]) {
    texts.set('a', text)
    t.equal(await entries.get(digest('a')), undefined, text)
  }
})
