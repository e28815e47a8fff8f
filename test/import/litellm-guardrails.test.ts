import t from 'tap'
import { importLitellmConfig } from '../../lib/import/litellm-config.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const models = [
  { model_name: 'm', litellm_params: { model: 'openai/gpt-4o', api_key: 'os.environ/OPENAI_API_KEY' } }
]

function made (...guardrails: ReadonlyArray<readonly [name: string, params: JsonObject]>) {
  const { config, rows, secrets } = importLitellmConfig({
    model_list: models,
    guardrails: guardrails.map(([name, params]) => ({ guardrail_name: name, litellm_params: params }))
  })
  return {
    stages: config['stages'],
    rows: rows.filter(({ path }) => /^guardrails\[\d+\]$/.test(path)),
    fields: new Map(rows.map(({ path, verdict, note }) => [path, { verdict, note }])),
    secrets
  }
}

const addresses = {
  presidio_analyzer_api_base: 'http://analyzer:3000',
  presidio_anonymizer_api_base: 'http://anonymizer:3000/'
}

t.test('parameters that a guard does not have are in the plan', async t => {
  const { fields } = made([
    'pii',
    {
      guardrail: 'presidio',
      mode: 'pre_call',
      ...addresses,
      presidio_ad_hoc_recognizers: './recognizers.json',
      presidio_score_thresholds: { ALL: 0.5, CREDIT_CARD: 0.8 }
    }
  ])
  const at = 'guardrails[0].litellm_params'
  for (const field of ['presidio_ad_hoc_recognizers', 'presidio_score_thresholds.CREDIT_CARD']) {
    t.match(fields.get(`${at}.${field}`), { verdict: 'unsupported' }, field)
  }
  t.notOk(fields.has(`${at}.presidio_score_thresholds.ALL`))
  t.notOk(fields.has(`${at}.mode`))
})

t.test('the address of a guardrail may end with a slash', async t => {
  const api = { guardrail: 'generic_guardrail_api', mode: 'pre_call', api_base: 'http://guard:8000/' }
  t.match(made(['g', api]).stages, [{ url: 'http://guard:8000/beta/litellm_basic_guardrail_api' }])
})

t.test('presidio: masking and refusing become separate guards', async t => {
  const { stages, rows } = made([
    'pii',
    {
      guardrail: 'presidio',
      mode: ['pre_call', 'post_call'],
      default_on: true,
      ...addresses,
      presidio_language: 'de',
      presidio_score_thresholds: { ALL: 0.7 },
      pii_entities_config: { EMAIL_ADDRESS: 'MASK', CREDIT_CARD: 'BLOCK' }
    }
  ])
  const common = {
    at: ['request', 'answer'],
    use: 'presidio',
    analyzer_url: 'http://analyzer:3000',
    anonymizer_url: 'http://anonymizer:3000',
    language: 'de',
    score_threshold: 0.7
  }
  t.same(stages, [
    { name: 'pii', ...common, entities: ['CREDIT_CARD'], action: 'refuse' },
    { name: 'pii-2', ...common, entities: ['EMAIL_ADDRESS'], action: 'mask' }
  ])
  t.same(rows, [{ path: 'guardrails[0]', verdict: 'exact', note: 'guard pii, pii-2' }])
  t.match(made(['all', { guardrail: 'presidio', mode: 'pre_call', ...addresses }]).stages, [
    { name: 'all', when: 'asked', action: 'mask' }
  ])
  t.match(made(['none', { guardrail: 'presidio', mode: 'pre_call' }]), {
    stages: undefined,
    rows: [{ verdict: 'manual', note: /addresses/ }]
  })
  t.match(made(['log', { guardrail: 'presidio', mode: 'logging_only', ...addresses }]), {
    stages: undefined,
    rows: [{ verdict: 'manual' }]
  })
})

t.test('moderation with the account of the models, and a generic guardrail API', async t => {
  const { stages, rows, fields, secrets } = made(
    ['Moderated', { guardrail: 'openai_moderation', mode: 'during_call' }],
    [
      'own',
      {
        guardrail: 'generic_guardrail_api',
        mode: 'pre_call',
        default_on: true,
        api_base: 'http://guard:8000',
        api_key: 'in-clear',
        headers: { 'x-team': 'os.environ/TEAM' },
        unreachable_fallback: 'fail_open',
        additional_provider_specific_params: { threshold: 0.5 }
      }
    ],
    [
      'own',
      {
        guardrail: 'generic_guardrail_api',
        mode: 'pre_mcp_call',
        api_base: 'http://guard:8000/beta/litellm_basic_guardrail_api',
        fail_on_error: false
      }
    ]
  )
  t.same(stages, [
    {
      name: 'moderated',
      at: ['request'],
      when: 'asked',
      use: 'moderation',
      model: 'openai/omni-moderation-latest'
    },
    {
      name: 'own',
      at: ['request'],
      use: 'webhook',
      format: 'litellm',
      url: 'http://guard:8000/beta/litellm_basic_guardrail_api',
      headers: { 'x-team': 'env:TEAM', 'x-api-key': 'env:LITELLM_OWN_KEY' },
      when_unavailable: 'pass'
    },
    {
      name: 'own-2',
      at: ['tool_call'],
      when: 'asked',
      use: 'webhook',
      format: 'litellm',
      url: 'http://guard:8000/beta/litellm_basic_guardrail_api',
      when_unavailable: 'pass'
    }
  ])
  t.same(rows.map(({ verdict }) => verdict), ['approximate', 'exact', 'approximate'])
  t.match(rows[0]?.note, /before the call, not during it; its name is moderated/)
  t.match(fields.get('guardrails[1].litellm_params.additional_provider_specific_params'), {
    verdict: 'manual',
    note: /`options`/
  })
  t.equal(secrets.get('LITELLM_OWN_KEY'), 'in-clear')
})

t.test('a filter becomes patterns unless one of them has no counterpart', async t => {
  const patterns = [
    { pattern_type: 'prebuilt', pattern_name: 'email', action: 'MASK' },
    { pattern_type: 'regex', name: 'Ticket', pattern: 'PROJ-[0-9]{1,6}', action: 'BLOCK' }
  ]
  const { stages } = made([
    'words',
    {
      guardrail: 'litellm_content_filter',
      mode: 'post_call',
      default_on: true,
      patterns,
      blocked_words: [{ keyword: 'top (secret)', action: 'BLOCK' }]
    }
  ])
  t.same(stages, [
    {
      name: 'words',
      at: ['answer'],
      use: 'pattern',
      patterns: [
        { name: 'ticket-2', match: 'PROJ-[0-9]{1,6}' },
        { name: 'word-3', match: '(?i)top \\(secret\\)' }
      ],
      action: 'refuse'
    },
    { name: 'words-2', at: ['answer'], use: 'pattern', patterns: ['email'], action: 'mask' }
  ])
  for (const params of [
    { patterns: [{ pattern_type: 'prebuilt', pattern_name: 'weapons_firearms', action: 'BLOCK' }] },
    { patterns: [{ pattern_type: 'regex', pattern: '(?=x)y', action: 'MASK' }] },
    { categories: [{ category: 'harmful' }], patterns },
    {}
  ]) {
    t.match(made(['words', { guardrail: 'litellm_content_filter', mode: 'pre_call', ...params }]), {
      stages: undefined,
      rows: [{ verdict: 'manual' }]
    })
  }
})

t.test('other services and custom code must be moved by hand', async t => {
  const { stages, rows } = made(
    ['lakera', { guardrail: 'lakera_v2', mode: 'pre_call' }],
    ['code', { guardrail: 'constructor', mode: 'pre_call' }],
    ['odd', {}]
  )
  t.equal(stages, undefined)
  t.same(rows.map(({ verdict }) => verdict), ['manual', 'manual', 'manual'])
})
