import t from 'tap'
import { unionOf } from '../../../lib/validation/explain/union.ts'

const object = (properties: object, required: string[] = []): object => ({
  type: 'object',
  properties,
  required
})

t.test('the property with fixed values in most branches is the tag', async t => {
  const text = object({ type: { const: 'text' }, detail: { const: 'low' } }, ['type'])
  const image = object({ type: { enum: ['image', 'picture'] } }, ['type'])
  const { branches, tag } = unionOf([text, { anyOf: [image, { type: 'string' }] }])
  t.strictSame(branches, [text, image, { type: 'string' }])
  t.equal(tag?.name, 'type')
  t.strictSame([...tag?.meant ?? []], [['text', [text]], ['image', [image]], ['picture', [image]]])
  t.strictSame([tag?.optional, tag?.untagged], [[], []])
})

t.test(
  'branches with an optional tag are chosen without it, branches without a tag if they match',
  async t => {
    const strict = object({ role: { const: 'user' } }, ['role'])
    const lax = object({ role: { const: 'tool' } })
    const other = object({ id: { type: 'string' } })
    const { tag } = unionOf([strict, lax, other])
    t.strictSame([tag?.optional, tag?.untagged], [[lax], [other]])
  }
)

t.test('a value fixed by only one branch is not a tag', async t => {
  t.equal(unionOf([object({ type: { const: 'a' } }), object({ kind: { const: 'b' } })]).tag, undefined)
  t.equal(unionOf([{ type: 'string' }, { type: 'null' }]).tag, undefined)
})

t.test('a union is described once', async t => {
  const anyOf = [{ type: 'string' }, { type: 'null' }]
  t.equal(unionOf(anyOf), unionOf(anyOf))
})
