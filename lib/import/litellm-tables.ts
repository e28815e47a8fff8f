/** The outcome for the tables of LiteLLM's database, and for columns whose value makes no difference. */

import type { ColumnNote, ColumnNotes } from './column-plan.ts'

const made: ColumnNote = ['exact', 'when and by whom it was created or changed is not kept']
const limits: ColumnNote = ['exact', 'limits of what refers to it']
const earlier: ColumnNote = ['approximate', 'what earlier periods cost stays in LiteLLM']
const noModelLimits: ColumnNote = ['unsupported', 'there are no limits for one model: restrict `models`']
const memberBudget: ColumnNote = [
  'unsupported',
  'a member has one budget for all keys that they own, and not one for each project: limit keys'
]
const noPolicies: ColumnNote = ['manual', 'see `stages` in docs/guards.md']
const noRouter: ColumnNote = ['unsupported', 'routes are the same for every key']
const noDayTokens: ColumnNote = ['unsupported', 'there is no limit of tokens per day']

const makers = {
  created_at: made, created_by: made, updated_at: made, updated_by: made
} as const

/** By table. The others have separate functions. */
export const litellmColumns: ColumnNotes = {
  LiteLLM_VerificationToken: {
    ...makers,
    token: ['exact', 'the digest: the key works unchanged'],
    key_name: ['exact', 'what lists show of the key'],
    key_alias: ['exact', 'its name, with a number where another key has it'],
    user_id: ['exact', 'the user who created the key'],
    budget_id: ['exact', 'limits of LiteLLM_BudgetTable where the key has none of its own'],
    key_type: ['exact', 'its `allowed_routes` say the same'],
    soft_budget_cooldown: ['exact', 'the state of an alert'],
    total_spend: earlier,
    model_spend: earlier,
    model_max_budget: noModelLimits,
    budget_fallbacks: noModelLimits,
    tpd_limit: noDayTokens,
    router_settings: noRouter,
    policies: noPolicies,
    organization_id: ['approximate', 'projects belong to no organisation'],
    settings_updated_at: made,
    last_active: made,
    rotation_count: made,
    last_rotation_at: made,
    auto_rotate: ['manual', 'rotate it yourself: `headgate keys rotate`'],
    rotation_interval: ['manual', 'rotate it yourself: `headgate keys rotate`'],
    key_rotation_at: ['manual', 'rotate it yourself: `headgate keys rotate`']
  },
  LiteLLM_DeprecatedVerificationToken: {
    ...makers,
    id: ['exact', 'keys are matched by digest'],
    token: ['exact', 'the digest before, which works until its time'],
    active_token_id: ['exact', 'the key that it belongs to'],
    revoke_at: ['exact', 'the time until which the digest before works']
  },
  LiteLLM_TeamTable: {
    ...makers,
    team_id: ['exact', 'a project'],
    team_alias: ['exact', 'the name of the project, with a number where another has it'],
    organization_id: ['approximate', 'projects belong to no organisation'],
    tpd_limit: noDayTokens,
    model_spend: earlier,
    model_max_budget: noModelLimits,
    router_settings: noRouter,
    policies: noPolicies,
    team_member_permissions: ['approximate', 'members create and change keys of their projects'],
    default_team_member_models: ['unsupported', 'members have no models of their own: restrict keys'],
    allow_team_guardrail_config: ['exact', 'guards are in the configuration'],
    model_id: ['unsupported', 'no aliases of one project: see `models` of the configuration']
  },
  LiteLLM_TeamMembership: {
    user_id: ['exact', 'a member of the project'],
    team_id: ['exact', 'the project'],
    spend: earlier,
    total_spend: earlier,
    budget_id: memberBudget
  },
  LiteLLM_UserTable: {
    ...makers,
    user_id: ['exact', 'a user'],
    user_alias: ['exact', 'the name of the user'],
    user_email: ['exact', 'the email, by which a sign-in finds the user'],
    sso_user_id: ['approximate', 'the first sign-in with a verified email of the user'],
    password: ['manual', 'passwords are not carried over: send a link, or use OpenID Connect'],
    password_reset_required: ['exact', 'there is no password yet'],
    last_breach_check_at: ['exact', 'there is no password yet'],
    team_id: ['exact', 'teams list their members'],
    teams: ['exact', 'teams list their members'],
    organization_id: ['approximate', 'projects belong to no organisation'],
    model_spend: earlier,
    model_max_budget: noModelLimits,
    policies: noPolicies
  },
  LiteLLM_BudgetTable: {
    ...makers,
    budget_id: limits,
    max_budget: limits,
    max_parallel_requests: limits,
    tpm_limit: limits,
    rpm_limit: limits,
    budget_duration: limits,
    budget_reset_at: limits,
    tpd_limit: noDayTokens,
    soft_budget: limits,
    model_max_budget: noModelLimits,
    allowed_models: ['unsupported', 'members have no models of their own: restrict keys'],
    temp_budget_increase: ['manual', 'raise the budget here while it is in effect'],
    temp_budget_expiry: ['manual', 'raise the budget here while it is in effect']
  },
  LiteLLM_BudgetWindowSpend: {
    ...makers,
    entity_type: ['exact', 'a key or a project'],
    entity_id: ['exact', 'the key or the project'],
    window_duration: ['exact', 'the budget that it belongs to'],
    window_start: ['exact', 'the period that it belongs to'],
    spend: ['exact', 'what was spent in the current period']
  },
  LiteLLM_EndUserTable: {
    user_id: ['exact', 'end users are those named in calls'],
    alias: ['approximate', 'end users have no names besides their ids'],
    spend: earlier,
    budget_id: ['unsupported', 'every end user has the same budget: `end_users.default_budget`'],
    blocked: ['unsupported', 'end users cannot be blocked: refuse them in the program'],
    allowed_model_region: ['unsupported', 'no counterpart'],
    default_model: ['unsupported', 'no counterpart'],
    models: ['unsupported', 'end users have no models of their own'],
    object_permission_id: ['unsupported', 'end users have no tool servers of their own']
  },
  LiteLLM_TagTable: {
    ...makers,
    tag_name: ['exact', 'tags are those named in calls'],
    description: ['approximate', 'only a description'],
    model_info: ['approximate', 'only a description'],
    models: ['unsupported', 'tags do not select models: use routes'],
    spend: earlier,
    budget_id: ['approximate', '`limits.tags`, of calls whose key, project or route has the tag']
  },
  LiteLLM_OrganizationTable: {
    ...makers,
    organization_id: ['approximate', 'projects belong to no organisation'],
    organization_alias: ['approximate', 'projects belong to no organisation'],
    metadata: ['approximate', 'only a description'],
    spend: earlier,
    model_spend: earlier,
    budget_id: ['unsupported', 'there is no budget for several projects: give each its own'],
    models: ['unsupported', 'models are not set for several projects: restrict each'],
    object_permission_id: ['unsupported', 'tool servers are not set for several projects: restrict keys']
  },
  LiteLLM_OrganizationMembership: {
    ...makers,
    user_id: ['approximate', 'members belong to projects, not to this level'],
    organization_id: ['approximate', 'members belong to projects, not to this level'],
    user_role: ['approximate', 'members belong to projects, not to this level'],
    spend: earlier,
    budget_id: memberBudget
  },
  LiteLLM_ProjectTable: {
    ...makers,
    project_id: ['approximate', 'keys belong to the project of their team'],
    project_alias: ['approximate', 'keys belong to the project of their team'],
    description: ['approximate', 'only a description'],
    team_id: ['approximate', 'keys belong to the project of their team'],
    metadata: ['approximate', 'only a description'],
    spend: earlier,
    model_spend: earlier,
    budget_id: ['unsupported', 'there are no budgets within a team: limit keys'],
    models: ['unsupported', 'models are not set within a team: restrict keys'],
    model_rpm_limit: noModelLimits,
    model_tpm_limit: noModelLimits,
    blocked: ['exact', 'its keys are revoked'],
    object_permission_id: ['unsupported', 'tool servers are not set within a team: restrict keys']
  },
  LiteLLM_ModelTable: {
    ...makers,
    id: ['exact', 'see LiteLLM_TeamTable.model_id'],
    aliases: ['unsupported', 'no aliases of one project: see `models` of the configuration']
  },
  LiteLLM_ObjectPermissionTable: {
    object_permission_id: ['exact', 'tool servers of the keys that refer to it'],
    mcp_servers: ['exact', 'tool servers of the keys that refer to it'],
    mcp_access_groups: ['unsupported', 'no groups of tool servers: list them in keys'],
    mcp_tool_permissions: ['unsupported', 'a key may use all tools of a server: see `tools` of the server']
  },
  LiteLLM_AccessGroupTable: {
    ...makers,
    access_group_id: ['exact', 'models of the keys and teams that refer to it'],
    access_group_name: ['exact', 'models of the keys and teams that refer to it'],
    access_model_names: ['exact', 'models of the keys and teams that refer to it'],
    description: ['approximate', 'only a description'],
    access_mcp_server_ids: ['unsupported', 'no groups of tool servers: list them in keys'],
    assigned_team_ids: ['exact', 'keys and teams refer to it'],
    assigned_key_ids: ['exact', 'keys and teams refer to it']
  },
  LiteLLM_ProxyModelTable: {
    ...makers,
    model_id: ['exact', 'models go by their names'],
    model_name: ['exact', 'an entry of model_list: see its lines'],
    litellm_params: ['exact', 'an entry of model_list: see its lines'],
    model_info: ['exact', 'an entry of model_list: see its lines'],
    blocked: ['exact', 'not served']
  },
  LiteLLM_CredentialsTable: {
    ...makers,
    credential_id: ['exact', 'imported by credential name'],
    credential_name: ['exact', 'an entry of credential_list: see its line'],
    display_name: ['approximate', 'only a description'],
    credential_values: ['exact', 'an entry of credential_list: see its line'],
    credential_info: ['approximate', 'only a description']
  },
  LiteLLM_Config: {
    param_name: ['exact', 'a section of config.yaml: see its lines'],
    param_value: ['exact', 'a section of config.yaml: see its lines'],
    last_run_at: made,
    reload_revision: made
  },
  LiteLLM_MCPServerTable: {
    ...makers,
    server_id: ['exact', 'tool servers go by their names'],
    server_name: ['exact', 'an entry of mcp_servers: see its lines'],
    alias: ['exact', 'an entry of mcp_servers: see its lines'],
    description: ['approximate', 'only a description'],
    url: ['exact', 'an entry of mcp_servers: see its lines'],
    transport: ['exact', 'an entry of mcp_servers: see its lines'],
    command: ['exact', 'an entry of mcp_servers: see its lines'],
    args: ['exact', 'an entry of mcp_servers: see its lines'],
    env: ['exact', 'an entry of mcp_servers: see its lines'],
    static_headers: ['exact', 'an entry of mcp_servers: see its lines'],
    auth_type: ['exact', 'an entry of mcp_servers: see its lines'],
    credentials: ['manual', 'set `headers` of the tool server to a variable that holds the whole value'],
    allow_all_keys: ['exact', 'every key may use it'],
    available_on_public_internet: ['exact', 'keys decide who may use it'],
    status: ['exact', 'the health of servers is known from calls'],
    last_health_check: ['exact', 'the health of servers is known from calls'],
    health_check_error: ['exact', 'the health of servers is known from calls'],
    mcp_info: ['approximate', 'only a description'],
    approval_status: ['exact', 'only servers that are active are imported'],
    submitted_by: made,
    submitted_at: made,
    reviewed_at: made,
    review_notes: made,
    source_url: ['approximate', 'only a description']
  },
  LiteLLM_GuardrailsTable: {
    ...makers,
    guardrail_id: ['exact', 'guardrails go by their names'],
    guardrail_name: ['exact', 'an entry of guardrails: see its line'],
    litellm_params: ['exact', 'an entry of guardrails: see its line'],
    guardrail_info: ['approximate', 'only a description'],
    team_id: ['manual', 'see `only.projects` of guards in docs/guards.md'],
    status: ['exact', 'only those that are active are imported'],
    submitted_at: made,
    reviewed_at: made
  }
}

/** Other tables, by their names without `LiteLLM_`, if they have rows. */
export const otherTables: ReadonlyArray<readonly [names: RegExp, ...note: ColumnNote]> = [
  [/^(?:SpendLog|ErrorLog|AuditLog|Daily|Deleted|Retired)\w*$/, 'approximate', 'the history stays there'],
  [/^(?:CronJob|ProxyWorker|HealthCheck|UserNotifications|UISettings)\w*$/, 'exact', 'a state of its own'],
  [/^(?:AdaptiveRouter|AutoRouter|ShadowEval)\w+$/, 'exact', 'a state of its own'],
  [/^Managed\w+$/, 'approximate', 'files and batches stay with their providers'],
  [/^InvitationLink$/, 'manual', 'invite again those who have not accepted'],
  [/^SSOConfig$/, 'manual', 'set `accounts.oidc`'],
  [/^CacheConfig$/, 'manual', 'see docs/caching.md'],
  [/^Policy\w+$/, 'manual', 'see `stages` in docs/guards.md']
]
