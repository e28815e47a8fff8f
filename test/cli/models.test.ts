import t from 'tap'
import { headgate } from '../support/command.ts'
import { localModels } from '../../lib/local/local-models.ts'

t.test('models lists what callers can use', async t => {
  const { code, out } = await headgate(t, ['models', '--json'])
  t.equal(code, 0)
  t.match(JSON.parse(out), [{ id: 'sandbox/echo', status: 'enabled' }])
  t.match(await headgate(t, ['models']), {
    code: 0,
    out: /^MODEL +STATUS +\$\/M INPUT +\$\/M OUTPUT[^]*\nsandbox\/echo +enabled +0 +0 +text/
  })
  const priced = await headgate(t, ['models'], t.testdir(), {
    OPENAI_API_KEY: 'x',
    OPENAI_BASE_URL: 'http://127.0.0.1:1/v1'
  })
  t.match(priced.out, /\nopenai\/gpt-4\.1 +enabled +2 +8 +text/)

  const directory = t.testdir({ 'headgate.yaml': 'providers:\n  here: {kind: local}\n' })
  const local = await headgate(t, ['models', '--json'], directory)
  const listed: Array<{ id: string }> = JSON.parse(local.out)
  const able = await localModels('here')
  t.same(
    listed.map(({ id }) => id).toSorted(),
    able.map(({ id }) => id).toSorted(),
    'local programs are listed too'
  )

  const away = t.testdir({
    'headgate.yaml': 'providers:\n  gone: {base_url: "http://127.0.0.1:1", list_models: true}\n'
  })
  t.match(await headgate(t, ['models'], away), {
    code: 0,
    error:
      /^gone {2}warning: failed to read the model list of a provider: The provider could not be reached\. \(connect ECONNREFUSED 127\.0\.0\.1:1\)$/
  })
})
