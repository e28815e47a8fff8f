import t from 'tap'
import { headgate } from '../support/command.ts'
import { fakeUpstream } from '../support/upstream.ts'

t.test('route prints which models a call would use, and why', async t => {
  const directory = t.testdir({
    'headgate.yaml': `models:
  sandbox/echo: {attributes: {speed: 0.9, intelligence: 0.2}}
  sandbox/thinker: {attributes: {speed: 0.1, intelligence: 0.8}}
routes: {shared: {strategy: cheapest, models: [sandbox/echo, sandbox/painter]}}`
  })
  const list = ['route', 'sandbox/echo', 'thinker', '--attributes', 'complexity=0.8,efficiency=.1']
  const { code, out } = await headgate(t, [...list, '--json'], directory)
  t.equal(code, 0)
  t.match(JSON.parse(out), {
    object: 'route.decision',
    requested: 'sandbox/echo, thinker',
    candidates: [
      {
        rank: 1,
        model: 'sandbox/thinker',
        provider: 'sandbox',
        state: 'ready',
        score: 1,
        reason: 'score=1.00'
      },
      { rank: 2, model: 'sandbox/echo' }
    ]
  })
  t.match(await headgate(t, list, directory), {
    code: 0,
    out: /^RANK +MODEL +STATE +REASON\n1 +sandbox\/thinker +ready +score=1\.00\n2 +sandbox\/echo +ready +score=0\.33/
  })
  t.match(await headgate(t, ['route', 'shared'], directory), {
    code: 0,
    out: /1 +sandbox\/echo +ready +price=0\.00/
  })
  t.match(await headgate(t, ['route'], directory), { code: 2, error: /a model is required/ })
  t.match(await headgate(t, ['route', 'thinkr'], directory), {
    code: 1,
    error: /^headgate route: The model `thinkr` does not exist.*Did you mean/
  })
  for (const wrong of ['speed', 'speed=2', 'speed=x', '=1', 'a=0.5,']) {
    t.match(
      await headgate(t, ['route', 'thinker', '--attributes', wrong], directory),
      { code: 2, error: /must be names with numbers from 0 to 1/ },
      wrong
    )
  }
})

t.test('route sends no request, not even for the models of a provider', async t => {
  let requests = 0
  const upstream = await fakeUpstream(() => {
    requests++
    return { headers: { 'content-type': 'application/json' }, pieces: ['{"data":[{"id":"m"}]}'] }
  })
  t.teardown(upstream.close)
  const directory = t.testdir({
    'headgate.yaml': `providers: {listed: {kind: openai-compatible, base_url: '${upstream.url}/v1', list_models: true}}`
  })
  t.match(await headgate(t, ['route', 'listed/m'], directory), { code: 0, out: /1 +listed\/m +ready/ })
  t.match(await headgate(t, ['route', 'm'], directory), { code: 1, error: /does not exist/ })
  t.equal(requests, 0)
})

t.test('commands that look up models run no guard', async t => {
  const directory = t.testdir({
    'headgate.yaml': [
      'providers: {sandbox: {}}',
      'stages:',
      '  - {name: own, use: ./own.mjs, at: [request]}',
      '  - {name: remote, use: webhook, url: https://guard.example.com/look}',
      '  - {name: mails, use: pattern, patterns: [email]}',
      ''
    ].join('\n'),
    'own.mjs': "throw new Error('it ran')\n"
  })
  t.match(await headgate(t, ['route', 'echo'], directory), { code: 0, out: /sandbox\/echo/ })
  t.match(await headgate(t, ['models'], directory), { code: 0, out: /sandbox\/echo/ })
  t.match(await headgate(t, ['doctor'], directory), { out: /sandbox/, error: /^(?![^]*it ran)/ })
})
