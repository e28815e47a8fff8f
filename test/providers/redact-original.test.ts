import t from 'tap'
import { redactOriginal } from '../../lib/providers/redact-original.ts'

const secret = 'sk-ant-very-secret-1'
const org = '0b5f6a0e-1111-4222-8333-444455556666'

function redacted (message: string, ownKey = false): string {
  const body = `{ "type":"error", "error":{"type":"x","message":${JSON.stringify(message)},"details":null},"request_id":"req_1" }`
  return redactOriginal({ dialect: 'messages', status: 400, body }, [secret], ownKey).body
}

t.test('an error without secrets is unchanged, byte for byte', async t => {
  const message = 'messages.1.content.0: Invalid `signature` in `thinking` block'
  t.equal(
    redacted(message),
    `{ "type":"error", "error":{"type":"x","message":${JSON.stringify(message)},"details":null},"request_id":"req_1" }`
  )
  for (const body of ['[]', '{"error":"x"}', '{"error":{"message":1}}']) {
    t.equal(redactOriginal({ dialect: 'messages', status: 400, body }, [], false).body, body)
  }
})

t.test('credentials and account names are removed, the rest is kept', async t => {
  const text = redacted(`key ${secret} of your organization's (${org}) limit`)
  t.notMatch(text, secret)
  t.notMatch(text, org)
  t.match(
    text,
    /^\{ "type":"error", "error":\{"type":"x","message":"key \[redacted\] of your organization's \(\[redacted\]\) limit","details":null\},"request_id":"req_1" \}$/
  )
  t.match(
    redacted(`organization's (${org})`, true),
    org,
    'the account of a caller with a key of their own is theirs'
  )
})
