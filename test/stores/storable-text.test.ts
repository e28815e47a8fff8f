import t from 'tap'
import { storableText } from '../../lib/stores/storable-text.ts'
import { storeTest } from '../support/stores.ts'

t.test('only the NUL character is replaced', t => {
  t.equal(storableText('a\0b\0'), 'a\uFFFDb\uFFFD')
  t.equal(storableText('a\u0001b'), 'a\u0001b')
  t.end()
})

storeTest('a text with a NUL is stored as a whole, in every store', async (t, open) => {
  const { query } = await open()
  await query.insertInto('secrets').values({ name: 'a\0b', value: 'c\0d' }).execute()
  t.same(await query.selectFrom('secrets').select(['name', 'value']).where('name', '=', 'a\0b').execute(), [
    { name: 'a\uFFFDb', value: 'c\uFFFDd' }
  ])
})
