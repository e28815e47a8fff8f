import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { headgate } from '../support/command.ts'
import { fakeUpstream } from '../support/upstream.ts'

t.test('doctor reports each provider, and leaves nothing behind', async t => {
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
  t.match(found.get('locked'), { state: 'problem', text: /status 401/ })
  t.match(found.get('gone'), { state: 'problem', text: /could not be reached.*ECONNREFUSED/ })
  t.match(found.get('keys'), { state: 'note' })
  t.notOk(existsSync(join(directory, '.headgate')))
  const alone = await headgate(t, ['doctor'])
  t.match(alone, { code: 0, out: /only the simulator is enabled; for others set [^]*GEMINI_API_KEY/ })
  t.notMatch(alone.out, 'GOOGLE_API_KEY', 'another name for the same provider')
  const local = await headgate(t, ['doctor'], t.testdir({ 'headgate.yaml': 'providers:\n  local:\n' }))
  const spoilt = t.testdir({ '.headgate': { 'headgate.db': 'this is no database' } })
  t.match(await headgate(t, ['doctor'], spoilt), { code: 1, out: /^problem +store +The store \S+ cannot be used: file is not a database\.$/m })
  t.match(local, { code: 0, out: /local +tesseract is .+, pdftoppm is .+, espeak-ng is / })
})
