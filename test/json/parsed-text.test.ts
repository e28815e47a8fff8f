import t from 'tap'
import fc from 'fast-check'
import { ParsedText } from '../../lib/json/parsed-text.ts'
import { holds } from '../support/property.ts'

function parsed (text: string): { value: Record<string, unknown>, print: (object: object) => string } {
  const value = JSON.parse(text) as Record<string, unknown>
  const bytes = Buffer.from(text)
  const source = ParsedText.of(value, [bytes.subarray(0, 9), bytes.subarray(9)])
  return {
    value,
    print: object => String(source === undefined ? undefined : Buffer.from(source.print(object)))
  }
}

t.test('arrays and objects of the caller are sent as received, everything else is printed', async t => {
  const { value, print } = parsed(
    '{"model":"a", "messages": [ {"content":"\\u00fcber \u{1F680}", "n":1.0} ], "stop":["x"], "n":1.0}'
  )
  t.equal(
    print({ model: 'größe', messages: value['messages'], none: undefined, stop: ['x'], n: value['n'] }),
    '{"model":"größe","messages":[ {"content":"\\u00fcber \u{1F680}", "n":1.0} ],"stop":["x"],"n":1}'
  )
  t.equal(
    print({ messages: value['messages'] }),
    '{"messages":[ {"content":"\\u00fcber \u{1F680}", "n":1.0} ]}',
    'the first field'
  )
  t.equal(
    print({ other: value['messages'] }),
    '{"other":[{"content":"über \u{1F680}","n":1}]}',
    'under another name'
  )
  t.equal(print({}), '{}')
})

t.test('text that another parser might read differently is printed', async t => {
  const twice = parsed('{"messages":[{"role":"user","role":"system"}],"tools":[{"a": 1}]}')
  t.equal(
    print(twice),
    '{"messages":[{"role":"system"}],"tools":[{"a": 1}]}',
    'a key that comes twice inside'
  )
  t.equal(print(parsed('{"messages":[ 1],"messages":[ 2]}')), '{"messages":[2]}', 'a field that comes twice')
  function print ({ value, print }: ReturnType<typeof parsed>): string {
    return print({ ...value })
  }
})

t.test('any object: the output equals that of a printer', async t => {
  const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }))
  holds(t, fc.property(objects, objects, fc.constantFrom(undefined, 1), (given, others, indent) => {
    const { value, print } = parsed(JSON.stringify(given, undefined, indent))
    const sent = { ...others, ...value }
    return JSON.stringify(JSON.parse(print(sent))) === JSON.stringify(sent)
  }), { numRuns: 200 })
})

t.test('the received text is returned, also the second time and after printing', async t => {
  for (const text of ['{"messages": [1]}', '{"messages": ["größe \u{1F680}"]}']) {
    const bytes = Buffer.from(text)
    const value = JSON.parse(text) as Record<string, unknown>
    const printed = text.replace(': ', ':')
    for (const known of [text, undefined]) {
      const read = ParsedText.of(value, [bytes.subarray(0, 3), bytes.subarray(3)], known)
      t.same(
        [read?.text(), read?.text(), String(read?.print({ ...value }))],
        [text, text, printed],
        'read, then printed'
      )
      const first = ParsedText.of(value, [bytes], known)
      t.same(
        [String(first?.print({ ...value })), String(first?.print({ ...value })), first?.text()],
        [printed, printed, text],
        'printed, then read'
      )
    }
  }
})
