import t from 'tap'
import { readTelemetry } from '../../lib/import/litellm-telemetry.ts'
import { ImportPlan } from '../../lib/import/plan.ts'
import { ImportedSecrets } from '../../lib/import/secrets.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const path = 'litellm_settings.callbacks[0]'

function read (settings: JsonObject) {
  const file = { litellm_settings: { callbacks: ['otel'] }, ...settings }
  const plan = new ImportPlan(file)
  const secrets = new ImportedSecrets(file, plan)
  return {
    telemetry: readTelemetry(file, path, plan, secrets),
    secrets: secrets.values,
    verdict: plan.rows.find(row => row.path === path)?.verdict
  }
}

t.test(
  'the collector address comes from the callback settings or from variables, its headers are secrets',
  async t => {
    const { telemetry, secrets, verdict } = read({
      environment_variables: {
        OTEL_EXPORTER: 'otlp_http',
        OTEL_ENDPOINT: 'http://collector:4318/v1/traces',
        OTEL_HEADERS: 'Authorization=Bearer in-clear,x-team=a'
      }
    })
    t.same(telemetry, {
      otlp: {
        endpoint: 'http://collector:4318',
        protocol: 'http/protobuf',
        headers: { Authorization: 'env:LITELLM_OTLP_AUTHORIZATION', 'x-team': 'env:LITELLM_OTLP_X_TEAM' },
        sample: 1
      }
    })
    t.same([...secrets.values()], ['Bearer in-clear', 'a'])
    t.equal(verdict, 'approximate')
    t.match(
      read({ callback_settings: { otel: { endpoint: 'https://otlp.example/', exporter: 'http/json' } } })
        .telemetry,
      { otlp: { endpoint: 'https://otlp.example', protocol: 'http/json', headers: undefined } }
    )
  }
)

t.test('a gRPC exporter, a missing address or a secret in the address must be moved by hand', async t => {
  for (const variables of [
    {},
    { OTEL_EXPORTER: 'otlp_grpc', OTEL_ENDPOINT: 'http://collector:4317' },
    { OTEL_ENDPOINT: 'os.environ/COLLECTOR' },
    { OTEL_ENDPOINT: 'https://user:secret@otlp.example' }
  ]) {
    t.match(
      read({ environment_variables: variables }),
      { telemetry: undefined, verdict: 'manual' },
      JSON.stringify(variables)
    )
  }
})
