import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { redact, redactError } from '../../lib/text/redact.ts'

t.test('field names and ordinary words stay', async t => {
  for (const text of [
    'Unknown parameter: \'user_location\'.',
    'user_profile_lookup, team_schedule and project_files are tools',
    'key missing-from-object: user-defined, org-chart',
    'Bearer authentication is required',
    'the token limit is 8192, key: user_location',
    'max_tokens must be at most 4096'
  ]) t.equal(redact(text), text)
})

t.test('keys, partial keys and account ids are removed', async t => {
  for (const text of [
    'sk-abc***wxyz',
    'sk-proj-aBcDeFgH',
    'xa***wxyz',
    'pk_live_51HxYz',
    'gsk_A1b2C3d4',
    'AIzaSyA1234567890',
    'org-abcdefgh',
    'org-AbC123xYz456',
    'proj_AbC123xYz456',
    'user-AbC123xYz456',
    'jane.doe+x@piers.example',
    'hg_0aB1cD2e'
  ]) {
    t.equal(redact(`given ${text} here`), 'given [redacted] here', text)
  }
  t.equal(redact('Incorrect API key provided: xa***wxyz'), 'Incorrect API key provided: [redacted]')
  t.equal(redact('Incorrect API key provided: abcd1234efgh'), 'Incorrect API key provided: [redacted]')
  t.equal(redact('Authorization: Bearer eyJhbGciOi.J9'), 'Authorization: [redacted]')
  t.equal(redact('Team: 01234567-89ab-cdef-0123-456789abcdef'), 'Team [redacted]')
})

t.test('a known secret is removed entirely, in any form and place', async t => {
  const secret = 'correct-horse sk-battery/staple'
  t.equal(redact(`got ${secret}!`, [secret]), 'got [redacted]!')
  t.notMatch(redact(`${'x'.repeat(1990)}${secret}`, [secret]), /horse/, 'also where the text is cut')
  t.equal(redact('abc', ['abc']), 'abc', 'three letters are no secret')
  const error = redactError(
    new GatewayError('upstream_error', { message: `not ${secret}`, cause: { words: secret } }),
    [secret]
  )
  t.notMatch(`${error.message} ${String(error.cause)}`, /horse|battery/)
})
