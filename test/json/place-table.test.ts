import t from 'tap'
import {
  PlaceTable,
  address,
  everywhere,
  fixed,
  freeText,
  jsonSchema,
  kindWords,
  media,
  memberName,
  pieceOf,
  replaceInJson,
  replaceInJsonInSlices,
  text,
  toolArguments,
  toolCall,
  toolResult,
  unlisted,
  unseen,
  type TextPlace
} from '../../lib/json/place-table.ts'
import { ticksDuring } from '../support/ticks-during.ts'

/** Replaces every text by capitals, and records what was inspected. */
function shout (
  places: PlaceTable,
  value: unknown
): { readonly value: unknown, readonly seen: Readonly<Record<string, TextPlace>> } {
  const seen: Record<string, TextPlace> = {}
  const replaced = places.replace(value, (given, place) => {
    seen[given] = place
    return given.toUpperCase()
  })
  return { value: replaced, seen }
}

t.test('texts in listed places are replaced, and everything else is unchanged', t => {
  const places = new PlaceTable({
    a: text,
    'list[].text': text,
    'list[](call).input.**': toolCall,
    'map.*': text,
    id: unseen('an id')
  })
  const same = { deep: [1, 'other'] }
  const given = {
    a: 'x',
    id: 'i',
    list: [
      { type: 't', text: 'y' },
      { type: 'call', input: { k: ['z'] } }
    ],
    map: { m: 'v' },
    same
  }
  const { value, seen } = shout(places, given)
  t.same(value, {
    a: 'X',
    id: 'i',
    list: [
      { type: 't', text: 'Y' },
      { type: 'call', input: { k: ['Z'] } }
    ],
    map: { m: 'V' },
    same
  })
  t.equal((value as typeof given).same, same, 'the very object')
  t.equal(seen['z'], toolCall)
  t.equal(seen['i'], undefined)
  t.equal(seen['other'], unlisted, 'a string of no line is looked at')
  t.same(
    [seen['k'], seen['m'], seen['deep'], seen['a']],
    [memberName, memberName, memberName, undefined],
    'and so are names that no line has'
  )
  t.equal(
    places.replace(given, given => given),
    given,
    'where nothing is replaced, the value itself'
  )
  t.end()
})

t.test('numbers are inspected where any member is allowed, and nowhere else', t => {
  const places = new PlaceTable({
    'call.input.**': toolCall,
    schema: freeText,
    'schema.**': freeText,
    'result.**': toolResult,
    'secret.**': unseen('a secret'),
    'text.**': text
  })
  const given = {
    created: 1,
    call: { input: { card: 4111, list: [5, 1e21] } },
    schema: { const: 6 },
    result: { sum: 7 },
    secret: { n: 8 },
    text: { n: 9 }
  }
  const { value, seen } = shout(places, given)
  t.same(value, given, 'none is changed')
  t.same(Object.fromEntries(Object.entries(seen).filter(([text]) => /\d/.test(text))), {
    4111: { kind: 'fixed', part: 'tool_call' },
    5: { kind: 'fixed', part: 'tool_call' },
    '1e+21': { kind: 'fixed', part: 'tool_call' },
    6: fixed,
    7: { kind: 'fixed', part: 'tool_result' }
  })
  const inText: string[] = []
  replaceInJson('{"card":4111}', toolArguments, (text, { kind }) => {
    inText.push(`${text} ${kind}`)
    return text
  })
  t.same(inText, ['card fixed', '4111 fixed'], 'in arguments that are a text as well')
  t.end()
})

t.test('the most specific path wins', t => {
  const places = new PlaceTable({
    'a.**': fixed,
    'a.b.**': unseen('a secret'),
    'a[](x).c': text,
    '**.mark': unseen('a mark'),
    'a[](y).mark': text
  })
  const { value, seen } = shout(places, { a: { b: { c: 'secret' }, d: 'kept' } })
  t.same(value, { a: { b: { c: 'secret' }, d: 'kept' } })
  t.same(Object.keys(seen), ['d', 'kept'])
  t.equal(seen['kept'], fixed)
  t.equal(seen['secret'], undefined)
  t.same(
    shout(places, {
      a: [
        { type: 'x', c: 'c', mark: 'm' },
        { type: 'y', c: 'c', mark: 'm' }
      ]
    }).value,
    {
      a: [
        { type: 'x', c: 'C', mark: 'm' },
        { type: 'y', c: 'c', mark: 'M' }
      ]
    }
  )
  t.end()
})

t.test('the strings of JSON inside a text are replaced in that text', t => {
  const places = new PlaceTable({ args: toolArguments })
  t.same(shout(places, { args: '{ "a":"x\\u0079", "n":1.0 }' }).value, { args: '{ "a":"XY", "n":1.0 }' })
  t.same(shout(places, { args: 'not json' }).value, { args: 'NOT JSON' })
  t.same(shout(places, { args: '"x"' }).value, { args: '"X"' })
  t.same(shout(places, { args: '"\\u0078"' }).value, { args: '"X"' }, 'of a string its characters')
  t.same(shout(places, { args: '1.0' }).seen, { '1.0': { kind: 'json', part: 'tool_call' } })
  t.equal(
    replaceInJson('{"a":"x"}', toolArguments, (given, { part }) => `${given} of ${String(part)}`),
    '{"a":"x of tool_call"}'
  )
  t.same(
    shout(new PlaceTable({ piece: pieceOf(toolArguments) }), { piece: '{"a' }).value,
    { piece: '{"A' },
    'a piece of one is no JSON'
  )
  t.end()
})

t.test('escapes in unparsed JSON hide no text', async t => {
  const many = `[${'"",'.repeat(70_000)}"\\u005a"]`
  const deep = `${'['.repeat(300)}"\\u005a"${']'.repeat(300)}`
  const rows = [
    ['{"a":"\\u005a', '{"a":"(Z)'],
    ['{"a":"\\\\u005a \\u005A \\/ \\u0022 \\u000a', '{"a":"\\\\u005a (Z) / \\u0022 \\u000a'],
    [many, many.replace('\\u005a', '(Z)')],
    [deep, deep.replace('\\u005a', '(Z)')],
    ['{"a":"\\u0061', '{"a":"\\u0061']
  ] as const
  const replace = (text: string): string => text.replaceAll('Z', '(Z)')
  for (const [json, expected] of rows) {
    t.equal(replaceInJson(json, toolArguments, replace), expected, json.slice(0, 40))
    t.equal(await replaceInJsonInSlices(json, toolArguments, replace), expected, json.slice(0, 40))
  }
})

t.test('large JSON inside a text gives the same result in slices as at once', async t => {
  const places = new PlaceTable({ 'calls[].arguments': toolArguments })
  const args = JSON.stringify({ list: Array.from({ length: 9000 }, (_, n) => ({ n, text: `x\u00e9${n}` })) })
  const value = { calls: [{ arguments: args }, { arguments: `${args.slice(0, -1)},"list":"twice"}` }] }
  const shouted = (text: string): string => text.toUpperCase()
  let replaced: unknown
  const turns = await ticksDuring(async () => { replaced = await places.replaceInSlices(value, shouted) })
  t.ok(turns > 8, `${turns} turns`)
  t.same(replaced, places.replace(value, shouted))
  t.equal(await replaceInJsonInSlices(args, toolArguments, text => text), args)
  t.equal(await replaceInJsonInSlices('"x"', toolArguments, shouted), '"X"')
})

t.test('a large value gives the same result in slices as at once', async t => {
  const places = new PlaceTable({
    'list[].text': text,
    'list[](call).input.**': toolCall,
    'map.**': freeText,
    'secret.**': unseen('a secret')
  })
  const call = { type: 'call', text: 'x', input: { deep: ['y', { z: 1 }] } }
  const value = {
    list: Array.from({ length: 5000 }, (_, number) => number % 3 === 0 ? call : { text: `t${number}` }),
    map: Object.fromEntries(Array.from({ length: 5000 }, (_, number) => [`n${number}`, 'v'])),
    nested: [[Array.from({ length: 5000 }, () => ['w'])]],
    secret: ['s']
  }
  for (const change of [(given: string) => given, (given: string) => given.toUpperCase()]) {
    const seen: string[][] = [[], []]
    const noting = (list: string[] = []) => (given: string, { kind }: TextPlace): string => {
      list.push(`${kind} ${given}`)
      return change(given)
    }
    let replaced: unknown
    const turns = await ticksDuring(async () => {
      replaced = await places.replaceInSlices(value, noting(seen[0]))
    })
    t.ok(turns > 8, `${turns} turns`)
    const expected = places.replace(value, noting(seen[1]))
    t.same(replaced, expected)
    t.equal(replaced === value, expected === value)
    t.same(seen[0]?.toSorted(), seen[1]?.toSorted())
  }
})

t.test('a data: URL in place of an address is not inspected', t => {
  const { value, seen } = shout(new PlaceTable({ 'urls[]': address }), {
    urls: ['data:image/png;base64,eA==', 'https://a.example']
  })
  t.same(value, { urls: ['data:image/png;base64,eA==', 'HTTPS://A.EXAMPLE'] })
  t.same(Object.keys(seen), ['https://a.example'])
  t.end()
})

t.test('text that is not base64, in a file or a `data:` URL, is inspected like any other', t => {
  const files = [
    'ZmlsZQ==',
    'Zm\r\nls_-',
    'data:text/plain;base64,ZmlsZQ==',
    'DATA:;charset=x;BASE64,ZmlsZQ==',
    'data:text/plain,words',
    'data:text/plain;base64;x,words',
    'data:,words;base64,ZmlsZQ==',
    'some words',
    '{"a":1}'
  ]
  const places = new PlaceTable({ 'files[]': media, 'urls[]': address })
  const { value, seen } = shout(places, { files, urls: files })
  t.same(value, { files, urls: files.map((file, at) => [2, 3].includes(at) ? file : file.toUpperCase()) })
  t.same(Object.keys(seen), [...files.slice(4), ...files.slice(0, 2)])
  t.end()
})

t.test('all strings of a value can be texts, also inside JSON', t => {
  t.equal(
    everywhere('tool_result').replaceIn('[ "x", {"a":"y"} ]', (given, { part }) =>
      part === toolResult.part ? `${given}!` : given
    ),
    '[ "x!", {"a":"y!"} ]'
  )
  t.throws(() => everywhere(undefined).replaceIn('{', given => given), SyntaxError)
  t.end()
})

t.test('where member names are free, no name hides a text', t => {
  const places = new PlaceTable({
    'input.**': toolCall,
    'schema.**': freeText,
    'block.**': text,
    '**.signature': unseen('belongs to what it signs')
  })
  const members = { signature: 'x', deep: { signature: 'y' } }
  t.same(shout(places, { input: members, schema: members, block: members }).value, {
    input: { signature: 'X', deep: { signature: 'Y' } },
    schema: { signature: 'X', deep: { signature: 'Y' } },
    block: members
  })
  t.end()
})

t.test('kind words such as roles and types are not sentences, and free data may use the same names', t => {
  const places = new PlaceTable({
    ...kindWords, 'system.**': text, 'schema.**': freeText, 'metadata.*': text
  })
  const seen: Array<readonly [string, TextPlace]> = []
  const value = {
    role: 'user',
    system: [{ type: 'text', text: 'a' }],
    schema: { type: 'b' },
    metadata: { type: 'c', role: 'd' }
  }
  places.replace(value, (string, place) => {
    seen.push([string, place])
    return string
  })
  const sentences = seen.flatMap(([string, { isName }]) => isName === true ? [] : [string])
  t.same(sentences, ['a', 'b', 'c', 'd'])
  t.match(seen.find(([string]) => string === 'user'), ['user', { kind: 'fixed' }], 'a pattern looks at it')
  t.end()
})

t.test('a rule for string members of a name hides no text in objects or arrays of that name', t => {
  const hidden = unseen('a word')
  const places = new PlaceTable({ ...kindWords, '**.id': hidden, '**.status': hidden, 'tools[].**': text })
  for (const name of ['type', 'role', 'id', 'status']) {
    const of = (own: unknown, below: string): unknown => ({
      tools: [
        { [name]: own },
        { properties: { [name]: { type: 'string', description: below } } },
        { [name]: [below, { deep: [{ text: below }] }] }
      ]
    })
    const { value, seen } = shout(places, of('word', 'a text'))
    t.match(value, of('word', 'A TEXT'), name)
    t.equal(seen['a text'], text, name)
    t.not(seen['word']?.kind, 'text', name)
    t.equal(seen[name], memberName, name)
  }
  t.end()
})

t.test('a rule for everything below a name covers objects, arrays and a plain string', t => {
  const places = new PlaceTable({ '**.mark.**': unseen('a mark'), 'blocks[].**': text, 'free.**': freeText })
  for (const mark of ['x', ['x'], { type: 'x', deep: [{ ttl: 'x' }] }]) {
    const given = { blocks: [{ text: 'said', mark }] }
    const { value, seen } = shout(places, given)
    t.same(value, { blocks: [{ text: 'SAID', mark }] })
    t.same(Object.keys(seen), ['text', 'said'])
  }
  t.same(shout(places, { free: { mark: { a: 'x' } } }).value, { free: { mark: { a: 'X' } } })
  t.end()
})

t.test('of a duplicate member only the last, which a parser keeps, remains', t => {
  const places = new PlaceTable({ '**': text })
  const seen: string[] = []
  const note = (found: string): string => {
    seen.push(found)
    return found
  }
  t.equal(places.replaceIn('{"a":[{"b":"x", "b":"y"}]}', note), '{"a":[{"b":"y"}]}')
  t.equal(replaceInJson('{"a":"x","a":"y"}', toolArguments, note), '{"a":"y"}')
  t.notOk(seen.includes('x'))
  for (const json of ['{"a" : [ "\\":", {"a":1.0} ]}', '["a:", ":"]', '"a:"', '1.0']) {
    t.equal(places.replaceIn(json, note), json, 'all else is as it was written')
  }
  t.end()
})

t.test('types of a schema and repeated property names are not text; everything else in it is', t => {
  const places = new PlaceTable({ 'schema.**': jsonSchema })
  const schema = {
    type: 'object',
    description: 'a text',
    properties: {
      type: { type: ['STRING', 'null'], enum: ['one', 'two'], default: 'object' },
      list: { type: 'array', items: { type: 'my words' }, required: ['not a property'] }
    },
    required: ['type', 'list']
  }
  const { value, seen } = shout(places, { schema })
  t.same(value, {
    schema: {
      type: 'object',
      description: 'A TEXT',
      properties: {
        type: { type: ['STRING', 'null'], enum: ['ONE', 'TWO'], default: 'OBJECT' },
        list: { type: 'array', items: { type: 'MY WORDS' }, required: ['NOT A PROPERTY'] }
      },
      required: ['type', 'list']
    }
  })
  t.same([seen['STRING'], seen['array'], seen['list']], [undefined, undefined, memberName])
  t.end()
})
