/**
 * The tables of a LiteLLM used by a company, as its functions fill them: every kind of row that an import
 * treats differently.
 */

import { createCipheriv, createHash, randomBytes } from 'node:crypto'
import nacl from 'tweetnacl'
import { readDocument } from '../../lib/config/config-document.ts'
import { dayMs } from '../../lib/core/day.ts'
import {
  importLitellmDatabase,
  litellmTables as wantedTables,
  type ImportedDatabase
} from '../../lib/import/litellm-database.ts'
import { decryption, loadOpenBox } from '../../lib/import/litellm-decryption.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

export const saltKey = 'sk-salt-of-the-test'

/** LiteLLM's functions for keys and secrets. */
export interface LitellmFunctions {
  readonly hash: (token: string) => string
  readonly encrypt: (text: string) => string
  readonly encryptGcm: (text: string) => string
}

/** Equivalents of `hash_token` and `encrypt_value_helper`. */
export const ownFunctions: LitellmFunctions = {
  hash: token => createHash('sha256').update(token).digest('hex'),
  encrypt: text => {
    const nonce = randomBytes(24)
    return Buffer.concat([
      nonce,
      nacl.secretbox(Buffer.from(text), nonce, createHash('sha256').update(saltKey).digest())
    ])
      .toString('base64')
      .replaceAll('+', '-')
      .replaceAll('/', '_')
  },
  encryptGcm: text => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', createHash('sha256').update(saltKey).digest(), nonce)
    return `v2:gcm:${Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
      .toString('base64')
      .replaceAll('+', '-')
      .replaceAll('/', '_')}`
  }
}

/** Texts that the tables hold hashed or encrypted. */
export const tokens = [
  'sk-plain',
  'sk-team',
  'sk-team-other',
  'sk-team-spent',
  'sk-personal',
  'sk-spent',
  'sk-left',
  'sk-total',
  'sk-rate',
  'sk-blocked',
  'sk-expired',
  'sk-embeddings',
  'sk-group',
  'sk-wild',
  'sk-windows',
  'sk-shared-budget',
  'sk-before',
  'sk-page',
  'sk-nothing',
  'sk-admin',
  'sk-blocked-team'
] as const
export const secrets = [
  'sk-of-the-database',
  'openai/gpt-4o',
  'sk-of-the-credential',
  'shared account',
  'Bearer tools'
] as const

/** The time as stored by Prisma. */
function at (ms: number): string {
  return new Date(ms).toISOString().replace('Z', '')
}

/** Returns the beginning of the next day, week and month, where LiteLLM's periods end. */
export function periodEnds (nowMs: number): Readonly<Record<'day' | 'week' | 'month', number>> {
  const now = new Date(nowMs)
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  return {
    day: Date.UTC(year, month, date + 1),
    week: Date.UTC(year, month, date + 7 - ((now.getUTCDay() + 6) % 7)),
    month: Date.UTC(year, month + 1)
  }
}

/** Sums of one day in LiteLLM. */
function daily (token: string, day: Date, row: JsonObject): JsonObject {
  return {
    date: day.toISOString().slice(0, 10),
    api_key: token,
    model: 'gpt-4o',
    custom_llm_provider: 'openai',
    prompt_tokens: 100,
    completion_tokens: 10,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 0,
    api_requests: 4,
    successful_requests: 4,
    failed_requests: 0,
    updated_at: at(day.getTime()),
    ...row
  }
}

type Tables = Record<string, JsonObject[]>

/** @param address of the provider of every model */
export function litellmTables (functions: LitellmFunctions, address: string, nowMs: number): Tables {
  return {
    ...users(nowMs),
    ...teams(nowMs),
    ...models(functions, address, nowMs),
    LiteLLM_EndUserTable: [{ user_id: 'customer-7', spend: 3, blocked: false }],
    ...keys(functions, nowMs),
    ...spending(functions, nowMs),
    LiteLLM_DeprecatedVerificationToken: [
      {
        id: 'd1',
        token: functions.hash('sk-before'),
        active_token_id: functions.hash('sk-plain'),
        revoke_at: at(nowMs + dayMs)
      }
    ]
  }
}

/** The creation time of most rows. */
function madeAt (nowMs: number): string {
  return at(nowMs - 100 * dayMs)
}

function monthly (nowMs: number): JsonObject {
  return { budget_duration: '30d', budget_reset_at: at(periodEnds(nowMs).month) }
}

function users (nowMs: number): Tables {
  const made = madeAt(nowMs)
  return {
    LiteLLM_BudgetTable: [
      {
        budget_id: 'shared',
        max_budget: 3,
        budget_duration: '1d',
        budget_reset_at: at(periodEnds(nowMs).day),
        rpm_limit: 50,
        created_by: 'admin',
        updated_by: 'admin',
        updated_at: made
      },
      { budget_id: 'of-a-member', max_budget: 1, created_by: 'admin', updated_by: 'admin', updated_at: made }
    ],
    LiteLLM_UserTable: [
      { user_id: 'default_user_id', user_role: 'proxy_admin', spend: 9 },
      {
        user_id: 'ada',
        user_email: 'Ada@Example.com',
        user_role: 'proxy_admin',
        spend: 0,
        teams: ['team-1'],
        password: 'hashed'
      },
      {
        user_id: 'bob',
        user_alias: 'Bob',
        user_role: 'internal_user',
        max_budget: 5,
        spend: 5.5,
        ...monthly(nowMs)
      },
      { user_id: 'cyd', user_role: 'customer', max_budget: 7, spend: 0.1 }
    ]
  }
}

function teams (nowMs: number): Tables {
  const made = madeAt(nowMs)
  return {
    LiteLLM_TeamTable: [
      {
        team_id: 'team-1',
        team_alias: 'Research',
        models: ['gpt', 'claude', 'embed'],
        members_with_roles: [
          { user_id: 'ada', role: 'admin' },
          { user_id: 'bob', role: 'user' }
        ],
        max_budget: 100,
        spend: 40,
        tpm_limit: 1_000_000,
        ...monthly(nowMs),
        updated_at: made,
        created_at: made,
        metadata: { guardrails: ['pii'], cost_center: 7, tags: ['research'] }
      },
      {
        team_id: 'team-2',
        team_alias: 'Spent',
        models: [],
        max_budget: 10,
        spend: 10,
        ...monthly(nowMs),
        updated_at: made,
        created_at: made
      },
      {
        team_id: 'team-3',
        team_alias: 'Blocked',
        models: [],
        blocked: true,
        updated_at: made,
        created_at: made
      }
    ],
    LiteLLM_TeamMembership: [{ user_id: 'bob', team_id: 'team-1', spend: 2, budget_id: 'of-a-member' }]
  }
}

function models ({ encrypt, encryptGcm }: LitellmFunctions, address: string, nowMs: number): Tables {
  const made = madeAt(nowMs)
  return {
    LiteLLM_AccessGroupTable: [
      {
        access_group_id: 'group-1',
        access_group_name: 'embedders',
        access_model_names: ['embed'],
        updated_at: made
      }
    ],
    LiteLLM_ProxyModelTable: [
      {
        model_id: 'm1',
        model_name: 'claude',
        model_info: { id: 'm1', db_model: true, access_groups: ['writers'] },
        created_by: 'admin',
        updated_by: 'admin',
        updated_at: made,
        litellm_params: {
          model: encrypt('openai/gpt-4o'),
          api_base: address,
          api_key: encryptGcm('sk-of-the-database')
        }
      },
      {
        model_id: 'm2',
        model_name: 'by-credential',
        created_by: 'admin',
        updated_by: 'admin',
        updated_at: made,
        litellm_params: {
          model: encrypt('openai/gpt-4o'),
          litellm_credential_name: encrypt('shared account')
        }
      }
    ],
    LiteLLM_CredentialsTable: [
      {
        credential_id: 'c1',
        credential_name: 'shared account',
        created_by: 'admin',
        updated_by: 'admin',
        updated_at: made,
        credential_values: { api_base: address, api_key: encrypt('sk-of-the-credential') }
      }
    ],
    LiteLLM_Config: [{ param_name: 'router_settings', param_value: { num_retries: 1 } }],
    LiteLLM_MCPServerTable: [
      {
        server_id: 'mcp-1',
        alias: 'docs',
        url: 'https://tools.example/mcp',
        transport: 'http',
        static_headers: { Authorization: encrypt('Bearer tools') },
        allow_all_keys: true
      }
    ]
  }
}

function keys ({ hash }: LitellmFunctions, nowMs: number): Tables {
  const ends = periodEnds(nowMs)
  const made = madeAt(nowMs)
  const key = (token: string, row: JsonObject): JsonObject => ({
    token: hash(token),
    key_name: `sk-...${token.slice(-4)}`,
    key_alias: token.slice(3),
    created_at: made,
    spend: 0,
    models: [],
    ...row
  })
  return {
    LiteLLM_VerificationToken: [
      key('sk-plain', { user_id: 'ada', metadata: { tags: ['web'] }, last_active: made }),
      key('sk-team', {
        team_id: 'team-1',
        user_id: 'bob',
        models: ['all-team-models'],
        metadata: { tags: ['app'] },
        max_budget: 50,
        spend: 12.5,
        ...monthly(nowMs),
        total_spend: 99
      }),
      key('sk-team-other', {
        team_id: 'team-1',
        models: ['gpt'],
        max_budget: 4,
        spend: 3,
        budget_duration: '1d',
        budget_reset_at: at(ends.day)
      }),
      key('sk-team-spent', { team_id: 'team-2' }),
      key('sk-personal', { user_id: 'bob' }),
      key('sk-spent', { max_budget: 2, spend: 2, ...monthly(nowMs) }),
      key('sk-left', { max_budget: 2, spend: 2, budget_duration: '7d', budget_reset_at: at(nowMs - 1000) }),
      key('sk-total', { max_budget: 20, spend: 7 }),
      key('sk-rate', { rpm_limit: 1, max_parallel_requests: 3 }),
      key('sk-blocked', { blocked: true }),
      key('sk-expired', { expires: at(nowMs - 1000) }),
      key('sk-embeddings', { allowed_routes: ['/embeddings', '/v1/embeddings', '/v1/rerank'] }),
      key('sk-group', { models: ['writers'], access_group_ids: ['group-1'] }),
      key('sk-wild', { models: ['open/*'] }),
      key('sk-windows', {
        budget_limits: [
          { budget_duration: '1d', max_budget: 3, reset_at: new Date(ends.day).toISOString() },
          { budget_duration: '30d', max_budget: 40, reset_at: new Date(ends.month).toISOString() }
        ]
      }),
      key('sk-shared-budget', { budget_id: 'shared', spend: 1 }),
      key('sk-page', { team_id: 'litellm-dashboard' }),
      key('sk-nothing', { max_budget: 0 }),
      key('sk-admin', { allowed_routes: ['management_routes'] }),
      key('sk-blocked-team', { team_id: 'team-3' }),
      key('sk-alias', {
        key_alias: 'plain',
        aliases: { fast: 'gpt' },
        model_max_budget: { gpt: { max_budget: 1 } }
      })
    ]
  }
}

function spending ({ hash }: LitellmFunctions, nowMs: number): Tables {
  const ends = periodEnds(nowMs)
  const made = madeAt(nowMs)
  return {
    LiteLLM_DailyUserSpend: [
      daily(hash('sk-plain'), new Date(nowMs - 40 * dayMs), { id: 'day-1', user_id: 'ada', spend: 1.5 }),
      daily(hash('sk-plain'), new Date(nowMs - 40 * dayMs), {
        id: 'day-2',
        user_id: 'ada',
        spend: 0.5,
        endpoint: '/embeddings'
      }),
      daily(hash('sk-deleted'), new Date(nowMs - 40 * dayMs), { id: 'day-3', user_id: 'ada', spend: 8 })
    ],
    LiteLLM_BudgetWindowSpend: [
      {
        entity_type: 'Key',
        entity_id: hash('sk-windows'),
        window_duration: '1d',
        window_start: at(ends.day - dayMs),
        spend: 1,
        updated_at: made
      },
      {
        entity_type: 'Key',
        entity_id: hash('sk-windows'),
        window_duration: '30d',
        window_start: at(ends.month - 30 * dayMs),
        spend: 40,
        updated_at: made
      }
    ]
  }
}

/** Returns the `config.yaml` beside the database. */
export function litellmConfig (address: string): string {
  return JSON.stringify({
    model_list: [
      {
        model_name: 'gpt',
        litellm_params: { model: 'openai/gpt-4o', api_base: address, api_key: 'os.environ/PROVIDER_KEY' }
      },
      {
        model_name: 'embed',
        litellm_params: {
          model: 'openai/text-embedding-3-small',
          api_base: address,
          api_key: 'os.environ/PROVIDER_KEY'
        }
      },
      {
        model_name: 'open/*',
        litellm_params: { model: 'openai/*', api_base: address, api_key: 'os.environ/PROVIDER_KEY' }
      }
    ],
    general_settings: { master_key: 'sk-master' }
  })
}

export const testNowMs = Date.UTC(2026, 9, 14, 12)
export const testAddress = 'https://models.example/v1'

/** Imports the tables of our own, as they are at `testNowMs`. */
export async function importedTables (
  change: (tables: Record<string, JsonObject[]>) => void = () => undefined,
  salt = saltKey
): Promise<ImportedDatabase> {
  const tables = litellmTables(ownFunctions, testAddress, testNowMs)
  change(tables)
  const file = readDocument(litellmConfig(testAddress), 'config.yaml').value
  const rows = new Map(Object.entries(tables).filter(([name]) => wantedTables.has(name)))
  const others = Object.keys(tables).filter(name => !wantedTables.has(name))
  return importLitellmDatabase(file, { rows, others }, decryption(salt, await loadOpenBox()), testNowMs)
}

/** Returns the notes on everything that is not exact, by path. */
export function notesOf ({ rows }: Pick<ImportedDatabase, 'rows'>): Record<string, string> {
  return Object.fromEntries(
    rows
      .filter(({ verdict }) => verdict !== 'exact')
      .map(({ path, verdict, note }) => [path, `${verdict}: ${note}`])
  )
}
