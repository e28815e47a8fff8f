import t from 'tap'
import { parseBody } from '../../lib/http/parse-body.ts'
import { countTurns } from '../support/turns.ts'

const parsing = { maxDepth: 3, maxStringBytes: 30_000_000 }

/** Returns the pieces of a text as they arrive. */
function pieces (text: string | Buffer, size = 64 * 1024): Buffer[] {
  const bytes = Buffer.from(text)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size)
  )
}

async function refusal (bytes: string | Buffer, changes: Partial<typeof parsing> = {}): Promise<unknown> {
  try {
    return await parseBody(pieces(bytes), { ...parsing, ...changes }).value
  } catch (error) {
    return Object(error).message
  }
}

t.test('a large body gives the same values and errors as a small one', async t => {
  const fill = `"fill":"${'ä'.repeat(200_000)}"`
  for (const member of ['"fill":""', fill]) {
    t.same(
      await parseBody(pieces(`{${member},"a":[1,{"b":null}]}`), parsing).value,
      JSON.parse(`{${member},"a":[1,{"b":null}]}`)
    )
    t.match(
      await refusal(`{${member},}`),
      /^The body is not JSON(?:: expected double-quoted property name at line 1, column \d+)?\.$/
    )
    t.equal(await refusal(Buffer.from(`{${member},"a":"\u00ff"}`, 'latin1')), 'The body is not UTF-8.')
    t.same(
      await refusal(`{${member},"a":[[[1]]]}`),
      JSON.parse(`{${member},"a":[[[1]]]}`),
      'as deep as it may be'
    )
    t.equal(await refusal(`{${member},"a":[[[[1]]]]}`), 'The body is nested deeper than 3 levels.')
  }
})

t.test('a string in a large body may be as long as the limit, which the refusal names', async t => {
  t.equal(
    await refusal(`{"a":"${'ä'.repeat(600_000)}"}`, { maxStringBytes: 1024 * 1024 }),
    'The body has a string of more than 1 MB that is not base64.'
  )
})

t.test('other work continues while a large body is parsed, a small one is parsed at once', async t => {
  const turns = countTurns(t)
  t.notOk(parseBody(pieces('{"a":1}'), parsing).value instanceof Promise)
  const before = turns()
  await parseBody(pieces(`{"a":"${'a'.repeat(20_000_000)}"}`), parsing).value
  t.ok(turns() - before > 20, `${turns() - before} turns`)
})

t.test('a body that is not JSON is refused with position and reason, without quoting it', async t => {
  const rows: ReadonlyArray<readonly [body: string, message: string]> = [
    ['', 'The body is empty. Send a JSON object.'],
    ['{"a":', 'The body is not JSON: it ends too early, after 5 characters.'],
    ['{\n  "a": 1,\n}', 'The body is not JSON: expected double-quoted property name at line 3, column 1.'],
    ['{"secret" 1}', "The body is not JSON: expected ':' after property name at line 1, column 11."],
    ["{'secret': 1}", 'The body is not JSON: expected property name at line 1, column 2.'],
    ['{"a":1}secret', 'The body is not JSON: unexpected non-whitespace character at line 1, column 8.'],
    ['secret', 'The body is not JSON.']
  ]
  for (const [body, message] of rows) t.equal(await refusal(body), message, body)
})
