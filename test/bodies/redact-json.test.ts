import t from 'tap'
import { redactJson } from '../../lib/bodies/redact-json.ts'
import { Redaction } from '../../lib/bodies/redaction.ts'

const redaction = new Redaction({
  fields: ['SSN', 'note'],
  patterns: ['\\b\\d{4}(?:[ -]?\\d{4}){3}\\b', '(?i)project falcon']
})
const secrets = ['canary-secret']

async function redacted (
  text: string,
  parts: Partial<Parameters<typeof redactJson>[1]> = {}
): Promise<string> {
  return (await redactJson(text, { redaction, secrets, maxLength: 1e6, ...parts })).text
}

t.test('field names, patterns, keys and known secrets are replaced at any depth', async t => {
  for (const [value, expected] of [
    [
      { ssn: '1', list: [{ SSN: { a: ['"]}', 1] }, b: 2 }] },
      { ssn: '[redacted]', list: [{ SSN: '[redacted]', b: 2 }] }
    ],
    [
      { a: 'card 4111 1111 1111 1111.', b: 4111111111111111, c: 12 },
      { a: 'card [redacted].', b: '[redacted]', c: 12 }
    ],
    [
      { a: 'about Project Falcon', 'Project Falcon': null },
      { a: 'about [redacted]', '[redacted]': null }
    ],
    [{ a: 'sk-abcdef123456 and canary-secret' }, { a: '[redacted] and [redacted]' }],
    [
      {
        mcp_servers: [{ url: 'https://a', authorization: 'x', headers: { 'X-Own': 'y' } }],
        credentials: [{ z: 1 }]
      },
      {
        mcp_servers: [{ url: 'https://a', authorization: '[redacted]', headers: '[redacted]' }],
        credentials: '[redacted]'
      }
    ],
    [
      { a: 'é "quoted" \\ \u0000 Project\u0020Falcon', note: true },
      { a: 'é "quoted" \\ \u0000 [redacted]', note: '[redacted]' }
    ],
    [
      { logprobs: null, ssn: null, note: 'null' },
      { logprobs: null, ssn: null, note: '[redacted]' }
    ],
    [{ logprobs: { content: [{ token: 'ca' }, { token: 'nary' }] } }, { logprobs: '[redacted]' }],
    [
      { text: '[redacted] is nothing new', list: [], none: null },
      { text: '[redacted] is nothing new', list: [], none: null }
    ]
  ] as const) {
    t.same(JSON.parse(await redacted(JSON.stringify(value, null, 2))), expected)
  }
})

t.test(
  'JSON inside a string, such as tool arguments, is redacted as JSON; other text as text',
  async t => {
    const call = {
      arguments: JSON.stringify({ ssn: '1', inner: JSON.stringify({ note: 'x', sum: 3 }) }),
      text: '[link] of Project Falcon {'
    }
    const result = JSON.parse(await redacted(JSON.stringify(call))) as typeof call
    const args = JSON.parse(result.arguments) as { ssn: string, inner: string }
    t.equal(args.ssn, '[redacted]')
    t.same(JSON.parse(args.inner), { note: '[redacted]', sum: 3 })
    t.equal(result.text, '[link] of [redacted] {')
  }
)

t.test('truncated text and text that is not JSON are redacted too', async t => {
  t.equal(await redacted('{"a": "canary-secret", "ssn": {"b": "x'), '{"a": "[redacted]", "ssn":"[redacted]"')
  t.equal(await redacted('my key: sk-abcdef123456, project falcon'), 'my key: [redacted], [redacted]')
  t.equal(await redacted('{"a": "sk-abcdef12345'), '{"a": "[redacted]"')
  const cut = await redacted(`{"a": "${'x '.repeat(3000)}sk-abc`, { isCut: true })
  t.equal(cut, `{"a": "${'x '.repeat(2491)}"`, 'the end of a truncated string may be part of a secret')
})

t.test('base64 media are left out, and text beyond the limit is cut', async t => {
  const image = Buffer.alloc(3000, 7).toString('base64')
  t.same(
    JSON.parse(await redacted(JSON.stringify({ url: `data:image/png;base64,${image}`, data: image }))),
    { url: 'data:image/png;base64,(4000 characters in base64)', data: '(4000 characters in base64)' }
  )
  const long = await redactJson(
    JSON.stringify(Array.from({ length: 100_000 }, (_, index) => `text ${index}`)),
    { redaction, secrets, maxLength: 1000 }
  )
  t.ok(long.isTruncated && long.text.length < 1100)
  const text = await redactJson(JSON.stringify({ a: 'canary-secret '.repeat(1000) }), {
    redaction,
    secrets,
    maxLength: 100
  })
  t.ok(text.isTruncated)
  t.notMatch(text.text, /canary|secret/)
})

t.test(
  'names inside longer text and encoded values are not found, but patterns are',
  async t => {
    const secret = JSON.stringify({ ssn: 'Project Falcon' })
    const [inside, encoded, address] = [
      `Here it is: ${secret}`,
      Buffer.from(secret).toString('base64'),
      `https://a/?q=${encodeURIComponent(secret)}`
    ]
    t.same(JSON.parse(await redacted(JSON.stringify({ inside, encoded, address }))), {
      inside: 'Here it is: {"ssn":"[redacted]"}',
      encoded,
      address
    })
    t.same(JSON.parse(await redacted(JSON.stringify({ inside: 'Here it is: {"ssn":"078-05-1120"}' }))), {
      inside: 'Here it is: {"ssn":"078-05-1120"}'
    })
    const parts = { content: [{ text: 'Project' }, { text: ' Falcon' }] }
    t.same(
      JSON.parse(await redacted(JSON.stringify(parts))),
      parts,
      'several parts are inspected separately'
    )
  }
)
