import t from 'tap'
import { argumentsText, contentOf, memberType, partsOf } from '../../lib/providers/answer-parts.ts'

const part = { a: 1 }

t.test('the parts of a list are its objects, however it is written', async t => {
  for (const written of [[part], part, [null, part, ''], [[part]]]) {
    t.same(partsOf(written, 'the list'), [part], JSON.stringify(written))
  }
  for (const nothing of [undefined, null, '', [], [null]]) {
    t.same(partsOf(nothing, 'the list'), [], JSON.stringify(nothing))
  }
})

t.test('what cannot be read is an error that names it', async t => {
  for (const odd of ['text', 7, true, ['text'], [part, 7]]) {
    t.throws(
      () => partsOf(odd, 'the list'),
      { code: 'upstream_invalid_response', cause: /the list cannot be read/ },
      JSON.stringify(odd)
    )
  }
})

t.test('a text in place of a content is its only part', async t => {
  t.same(contentOf('hello', 'the content'), [{ type: 'text', text: 'hello' }])
  t.same(contentOf('', 'the content'), [])
  t.same(contentOf([part], 'the content'), [part])
})

t.test('arguments are JSON as text, whether they came so or as an object', async t => {
  for (const [value, text] of [
    ['{"a":1}', '{"a":1}'],
    [{ a: 1 }, '{"a":1}'],
    [null, ''],
    [undefined, ''],
    ['', '']
  ] as const) {
    t.equal(argumentsText(value), text)
  }
})

t.test('a part without a type is what it holds', async t => {
  const members = { input: 'tool_use', text: 'text' }
  t.equal(memberType({ text: '' }, members), 'text')
  t.equal(memberType({ text: 'a', input: {} }, members), 'tool_use', 'the first member counts')
  t.equal(memberType({ text: null }, members), undefined)
})
