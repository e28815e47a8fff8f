import t from 'tap'
import { JsonTemplate, printPart } from '../../lib/json/json-template.ts'

const first = '{"id":"a","created_at": 17,"object":"x","text":"say \\"id\\":\\"b\\"","usage":{"input_tokens":1,"x":2}}'
const template = JsonTemplate.of(first)

t.test('the values of a text are those in which others of its kind differ', async t => {
  t.same(template?.values(first), ['a', '17', 'say \\"id\\":\\"b\\"', '1'])
  t.same(template?.values(first.replace('17', '0').replace('"a"', '""')), ['', '0', 'say \\"id\\":\\"b\\"', '1'])
})

t.test('another text has no values', async t => {
  for (const [from, to] of [['17', '-1'], ['17', '07'], ['17', ''], ['17', '1234567890123456'], ['"a"', 'null'], ['"a"', '"\\x"'], ['"a"', '"\n"'], ['"x":2', '"x":3'], ['}}', '}} '], ['}}', '}']] as const) {
    t.equal(template?.values(first.replace(from, to)), undefined, `${from} as ${to}`)
  }
})

t.test('a part has its own values', async t => {
  const at = first.indexOf('{"input')
  const part = template?.part(at, first.length - 1)
  t.equal(part && printPart(part, template?.values(first.replace('s":1', 's":23')) ?? []), '{"input_tokens":23,"x":2}')
  const all = template?.part(0, first.length)
  t.equal(all && printPart(all, template?.values(first) ?? []), first)
})

t.test('what changes all texts of a kind alike is printed around their values; what changes values is not', async t => {
  const changed = (change: (json: string) => string | undefined): string | undefined => {
    return template?.changed(change)?.(['A', '2', 'B', '3'])
  }
  t.equal(changed(json => json.replace('"object":"x"', '"object":"y"')), '{"id":"A","created_at": 2,"object":"y","text":"B","usage":{"input_tokens":3,"x":2}}')
  t.equal(changed(() => undefined), undefined)
  t.equal(changed(json => json + json), undefined, 'values that come twice')
  t.equal(changed(json => json.replace(/"id":"[^"]*"/, '"id":"mine"')), undefined, 'a value that is replaced')
  t.equal(changed(json => json.replace(/("id":"[^"]*"),("created_at": \d+)/, '$2,$1')), undefined, 'values in another order')
})

t.test('a large text, and one with many values, has no template', async t => {
  t.equal(JsonTemplate.of(`{"x":"${'y'.repeat(5000)}"}`), undefined)
  t.ok(JsonTemplate.of(`{"text":"${'y'.repeat(5000)}"}`))
  t.equal(JsonTemplate.of(JSON.stringify(Array.from({ length: 100 }, () => ({ id: 'a' })))), undefined)
})
