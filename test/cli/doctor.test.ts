import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { headgate } from '../support/command.ts'
import { fakeUpstream } from '../support/upstream.ts'

t.test('doctor reports each provider and leaves no state', async t => {
  const upstream = await fakeUpstream(({ path }) => path === '/v1/models'
    ? { headers: { 'content-type': 'application/json' }, pieces: ['{"data":[{"id":"m"}]}'] }
    : { status: 401, pieces: ['{}'] })
  t.teardown(upstream.close)
  const directory = t.testdir({
    'headgate.yaml': `providers:
  good: {base_url: '${upstream.url}/v1'}
  locked: {base_url: '${upstream.url}/other'}
  gone: {base_url: 'http://127.0.0.1:1'}
`
  })
  const { code, out } = await headgate(t, ['doctor', '--json'], directory)
  t.equal(code, 1, 'two providers fail')
  const report: { findings: Array<{ about: string, state: string, text: string }> } = JSON.parse(out)
  const found = new Map(report.findings.map(finding => [finding.about, finding]))
  t.match(found.get('good'), { state: 'ok', text: /^responded in \d+ ms with 1 models$/ })
  t.match(found.get('locked'), {
    state: 'problem',
    text: 'The provider refused the request without a key (401): set `providers.locked.api_key`.'
  })
  t.match(found.get('gone'), { state: 'problem', text: /could not be reached.*ECONNREFUSED/ })
  t.match(found.get('keys'), { state: 'note' })
  t.notOk(existsSync(join(directory, '.headgate')))
  const alone = await headgate(t, ['doctor'])
  t.match(alone, { code: 0, out: /only the simulator is enabled; for others set one of [^]*GEMINI_API_KEY/ })
  t.notMatch(alone.out, 'GOOGLE_API_KEY', 'a second name for the same provider')
  const local = await headgate(t, ['doctor'], t.testdir({ 'headgate.yaml': 'providers:\n  local:\n' }))
  const spoilt = t.testdir({ '.headgate': { 'headgate.db': 'this is no database' } })
  t.match(await headgate(t, ['doctor'], spoilt), {
    code: 1,
    out: /^problem +store +The store \S+ cannot be used: file is not a database\.$/m
  })
  t.match(local, { code: 0, out: /local +tesseract is .+, pdftoppm is .+, espeak-ng is / })
})

t.test('doctor names a rejected key and a wrong base URL', async t => {
  const upstream = await fakeUpstream(({ path, headers }) => {
    if (path === '/page/models') {
      return { headers: { 'content-type': 'text/html; charset=utf-8' }, pieces: ['<html>'] }
    }
    if (path === '/v1/models') {
      return headers.authorization === 'Bearer good'
        ? { pieces: ['{"data":[]}'] }
        : { status: 401, pieces: ['{}'] }
    }
    return { status: 404, pieces: ['{}'] }
  })
  t.teardown(upstream.close)
  const { host } = new URL(upstream.url)
  const directory = t.testdir({
    'headgate.yaml': `providers:
  locked: {base_url: '${upstream.url}/v1', api_key: env:OPENAI_API_KEY}
  filed: {base_url: '${upstream.url}/v1', api_key: file:key.txt}
  good: {base_url: '${upstream.url}/v1', api_keys: [env:GOOD]}
  nov1: {base_url: '${upstream.url}'}
  page: {base_url: '${upstream.url}/page'}
`,
    'key.txt': 'sk-4711'
  })
  const { out } = await headgate(t, ['doctor', '--json'], directory, {
    OPENAI_API_KEY: 'sk-4711',
    GOOD: 'good'
  })
  const report: { findings: Array<{ about: string, state: string, text: string }> } = JSON.parse(out)
  const found = new Map(report.findings.map(finding => [finding.about, finding]))
  t.match(found.get('good'), { state: 'ok' })
  t.match(found.get('locked'), {
    state: 'problem',
    text: 'The provider refused the key in `OPENAI_API_KEY` (401).'
  })
  t.match(found.get('filed'), { state: 'problem', text: 'The provider refused the key in `key.txt` (401).' })
  t.match(found.get('nov1'), {
    state: 'problem',
    text: `GET http://${host}/models failed with status 404: does \`base_url\` lack \`/v1\`?`
  })
  t.match(found.get('page'), {
    state: 'problem',
    text: `The response of GET http://${host}/page/models is not JSON but text/html: does \`base_url\` lack \`/v1\`?`
  })
  t.notMatch(out, '4711')
})
