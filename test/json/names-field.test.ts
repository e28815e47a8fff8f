import t from 'tap'
import { namesField } from '../../lib/json/names-field.ts'

const names = new Set(['file_id'])
const none = new Set<string>()

t.test('a field is found at any depth, unless it is null or in a field that is not looked through', async t => {
  t.equal(namesField([{ a: [{ b: { file_id: 'f' } }] }], names, none), 'file_id')
  t.equal(namesField({ file_id: null, a: 'file_id' }, names, none), undefined)
  t.equal(namesField({ input: { file_id: 'f' } }, names, new Set(['input'])), undefined)
  t.equal(namesField(undefined, names, none), undefined)
})
