/**
 * The table of the admin API: each route with the least role that may use it, and what goes in and out. The
 * server builds its endpoints of it; the page takes its types:
 *
 * ```ts
 * type Answer<R extends AdminRoute> = Static<AdminRoutes[R]['answer']>
 * ```
 *
 * A request is made by a session (cookie and `X-Headgate-CSRF`) or by an admin key
 * (`Authorization: Bearer hga_…`). A POST may carry `Idempotency-Key`: sent again within a day, it has the
 * answer of the first. Errors are an `ErrorBody`, or 422 with a `ValidationErrorBody`.
 */

import type { TSchema } from 'typebox'
import {
  AdminKey,
  CreatedAdminKey,
  CreatedKey,
  Key,
  KeyChange,
  KeyRotation,
  NewAdminKey,
  NewKey,
  PlaygroundKey,
  PlaygroundKeyRequest
} from './keys.ts'
import { UsageExportPage, usageExportQuery, UsageExportRun, UsageExportsDue } from './exports.ts'
import { AlertChannelList, AlertDelivery, AlertPage, alertQuery, AlertTest } from './alerts.ts'
import { AuditPage, auditQuery } from './audit.ts'
import { CallBodies } from './call-bodies.ts'
import {
  CallDetail,
  callExportQuery,
  callMoment,
  CallPage,
  callQuery,
  LiveCalls,
  liveQuery
} from './calls.ts'
import {
  Deleted,
  Done,
  OneTimeLink,
  Page,
  pageQuery,
  type QueryParameter,
  type Role,
  type Scope
} from './common.ts'
import { Configuration, ConfigurationCheck, ConfigurationDraft, ConfigurationSave } from './configuration.ts'
import {
  CreatedInvitation,
  Invitation,
  Member,
  NewInvitation,
  NewMember,
  NewProject,
  Project,
  ProjectChange,
  User,
  UserChange
} from './organisation.ts'
import { Passkey, PasskeyChallenge, PasskeyCreation, PasskeyRegistration, PasskeySignIn } from './passkeys.ts'
import { CatalogueList, ProviderList, ToolServerList, ToolServerTools } from './resources.ts'
import { GuardList, GuardTrial, GuardTrialResult } from './guards.ts'
import {
  InvitationLink,
  InvitationPreview,
  InvitationSignIn,
  LinkSignIn,
  NewSession,
  PasswordChange,
  PasswordSignIn,
  ProfileChange,
  Session,
  SignIn,
  SignInOptions
} from './session.ts'
import { Usage, usageQuery } from './usage.ts'
import { AnyObject } from '../nullable.ts'

export interface AdminRouteSpec {
  readonly operationId: string
  readonly summary: string
  /** The minimum role; `none`: no session is needed, `self`: any session, but no admin key. */
  readonly role: Role | 'none' | 'self'
  /** True if a sign-in link alone is not enough outside loopback. Default: true unless the role is `self`. */
  readonly needsCredential?: boolean
  /** The scope that an admin key needs. */
  readonly scope?: Scope
  readonly query?: Readonly<Record<string, QueryParameter>>
  readonly request?: TSchema
  readonly answer: TSchema
  /** True if the answer is a redirect. */
  readonly redirects?: boolean
  /** True if pages of other sites may send browsers to the route. */
  readonly fromOtherSites?: boolean
  /** Media type of the answer. Default: JSON. For an event stream, `answer` is one message. */
  readonly mediaType?: 'text/csv' | 'text/event-stream'
}

export const adminRoutes = {
  'GET /admin/v1/sign-in': {
    operationId: 'getSignInOptions',
    summary: 'List the ways to sign in.',
    role: 'none',
    answer: SignInOptions
  },
  'POST /admin/v1/sign-in/password': {
    operationId: 'signInByPassword',
    summary: 'Sign in by password. Sets the cookie of the session.',
    role: 'none',
    request: PasswordSignIn,
    answer: NewSession
  },
  'POST /admin/v1/sign-in/link': {
    operationId: 'signInByLink',
    summary: 'Sign in by a one-time link.',
    role: 'none',
    request: LinkSignIn,
    answer: NewSession
  },
  'POST /admin/v1/invitation': {
    operationId: 'previewInvitation',
    summary: 'Describe an invitation.',
    role: 'none',
    request: InvitationLink,
    answer: InvitationPreview
  },
  'POST /admin/v1/sign-in/invitation': {
    operationId: 'acceptInvitation',
    summary: 'Accept an invitation: creates the user, and signs in.',
    role: 'none',
    request: InvitationSignIn,
    answer: NewSession
  },
  'POST /admin/v1/sign-in/passkey/options': {
    operationId: 'beginPasskeySignIn',
    summary: 'Begin to sign in by passkey.',
    role: 'none',
    answer: PasskeyChallenge
  },
  'POST /admin/v1/sign-in/passkey': {
    operationId: 'signInByPasskey',
    summary: 'Sign in by passkey.',
    role: 'none',
    request: PasskeySignIn,
    answer: NewSession
  },

  'GET /admin/v1/sign-in/oidc': {
    operationId: 'beginOidcSignIn',
    summary: 'Send the browser to the provider of OpenID Connect.',
    role: 'none',
    answer: AnyObject,
    redirects: true
  },
  'GET /admin/v1/sign-in/oidc/callback': {
    operationId: 'signInByOidc',
    summary: 'Complete a sign-in at the provider of OpenID Connect. Sets the cookie of the session.',
    role: 'none',
    query: {
      code: { description: 'Of the provider.', type: 'string' },
      state: { description: 'As it was sent to the provider.', type: 'string' },
      error: { description: 'Of the provider, instead of a code.', type: 'string' }
    },
    answer: AnyObject,
    redirects: true,
    fromOtherSites: true
  },

  'GET /admin/v1/session': {
    operationId: 'getSession',
    summary: 'Describe the session; 401 without one.',
    role: 'self',
    answer: Session
  },
  'DELETE /admin/v1/session': { operationId: 'signOut', summary: 'Sign out.', role: 'self', answer: Done },
  'GET /admin/v1/sessions': {
    operationId: 'listSessions',
    summary: 'List the sessions of the user.',
    role: 'self',
    answer: Page(SignIn)
  },
  'DELETE /admin/v1/sessions/:session_id': {
    operationId: 'endSession',
    summary: 'End a session of the user.',
    role: 'self',
    answer: Deleted
  },
  'POST /admin/v1/profile': {
    operationId: 'updateProfile',
    summary: 'Change the name or the email of the user.',
    role: 'self',
    request: ProfileChange,
    answer: Session
  },
  'POST /admin/v1/profile/password': {
    operationId: 'setPassword',
    summary: 'Set the password of the user.',
    role: 'self',
    request: PasswordChange,
    answer: NewSession
  },
  'GET /admin/v1/passkeys': {
    operationId: 'listPasskeys',
    summary: 'List the passkeys of the user.',
    role: 'self',
    answer: Page(Passkey)
  },
  'POST /admin/v1/passkeys/options': {
    operationId: 'beginPasskeyRegistration',
    summary: 'Begin to add a passkey.',
    role: 'self',
    answer: PasskeyCreation
  },
  'POST /admin/v1/passkeys': {
    operationId: 'addPasskey',
    summary: 'Add a passkey.',
    role: 'self',
    request: PasskeyRegistration,
    answer: Passkey
  },
  'DELETE /admin/v1/passkeys/:passkey_id': {
    operationId: 'deletePasskey',
    summary: 'Remove a passkey of the user.',
    role: 'self',
    answer: Deleted
  },

  'GET /admin/v1/users': {
    operationId: 'listUsers',
    summary: 'List the users.',
    role: 'admin',
    scope: 'users:read',
    query: pageQuery,
    answer: Page(User)
  },
  'GET /admin/v1/users/:user_id': {
    operationId: 'getUser',
    summary: 'Describe a user.',
    role: 'admin',
    scope: 'users:read',
    answer: User
  },
  'POST /admin/v1/users/:user_id': {
    operationId: 'updateUser',
    summary: 'Change a user. A disabled user has no sessions.',
    role: 'admin',
    scope: 'users:write',
    request: UserChange,
    answer: User
  },
  'DELETE /admin/v1/users/:user_id': {
    operationId: 'deleteUser',
    summary: 'Delete a user. Keys that the user made stay.',
    role: 'admin',
    scope: 'users:write',
    answer: Deleted
  },
  'POST /admin/v1/users/:user_id/link': {
    operationId: 'createSignInLink',
    summary: 'Create a one-time link with which the user signs in.',
    role: 'admin',
    scope: 'users:write',
    answer: OneTimeLink
  },
  'GET /admin/v1/invitations': {
    operationId: 'listInvitations',
    summary: 'List the invitations that are open.',
    role: 'admin',
    scope: 'users:read',
    query: pageQuery,
    answer: Page(Invitation)
  },
  'POST /admin/v1/invitations': {
    operationId: 'createInvitation',
    summary: 'Invite a person by link.',
    role: 'admin',
    scope: 'users:write',
    request: NewInvitation,
    answer: CreatedInvitation
  },
  'DELETE /admin/v1/invitations/:invitation_id': {
    operationId: 'deleteInvitation',
    summary: 'Withdraw an invitation.',
    role: 'admin',
    scope: 'users:write',
    answer: Deleted
  },

  'GET /admin/v1/projects': {
    operationId: 'listProjects',
    summary: 'List the projects that the caller may see.',
    role: 'viewer',
    scope: 'projects:read',
    query: pageQuery,
    answer: Page(Project)
  },
  'POST /admin/v1/projects': {
    operationId: 'createProject',
    summary: 'Create a project.',
    role: 'admin',
    scope: 'projects:write',
    request: NewProject,
    answer: Project
  },
  'GET /admin/v1/projects/:project_id': {
    operationId: 'getProject',
    summary: 'Describe a project.',
    role: 'viewer',
    scope: 'projects:read',
    answer: Project
  },
  'POST /admin/v1/projects/:project_id': {
    operationId: 'updateProject',
    summary: 'Change a project.',
    role: 'admin',
    scope: 'projects:write',
    request: ProjectChange,
    answer: Project
  },
  'DELETE /admin/v1/projects/:project_id': {
    operationId: 'archiveProject',
    summary: 'Archive a project: revokes its keys, and deletes the bodies of its calls.',
    role: 'admin',
    scope: 'projects:write',
    answer: Deleted
  },
  'GET /admin/v1/projects/:project_id/members': {
    operationId: 'listMembers',
    summary: 'List the members of a project.',
    role: 'member',
    scope: 'projects:read',
    query: pageQuery,
    answer: Page(Member)
  },
  'POST /admin/v1/projects/:project_id/members': {
    operationId: 'addMember',
    summary: 'Add a member.',
    role: 'admin',
    scope: 'projects:write',
    request: NewMember,
    answer: Member
  },
  'DELETE /admin/v1/projects/:project_id/members/:user_id': {
    operationId: 'removeMember',
    summary: 'Remove a member.',
    role: 'admin',
    scope: 'projects:write',
    answer: Deleted
  },

  'GET /admin/v1/keys': {
    operationId: 'listKeys',
    summary: 'List the keys of projects that the caller may see.',
    role: 'member',
    scope: 'keys:read',
    query: {
      project: { description: 'Only keys of these projects, with commas.', type: 'string' },
      status: { description: '`active`, `expired` or `revoked`. Default: all.', type: 'string' },
      search: { description: 'Part of the name or the id.', type: 'string' },
      ...pageQuery
    },
    answer: Page(Key)
  },
  'POST /admin/v1/keys': {
    operationId: 'createKey',
    summary: 'Create a key.',
    role: 'member',
    scope: 'keys:write',
    request: NewKey,
    answer: CreatedKey
  },
  'GET /admin/v1/keys/:key_id': {
    operationId: 'getKey',
    summary: 'Describe a key.',
    role: 'member',
    scope: 'keys:read',
    answer: Key
  },
  'POST /admin/v1/keys/:key_id': {
    operationId: 'updateKey',
    summary: 'Change a key.',
    role: 'member',
    scope: 'keys:write',
    request: KeyChange,
    answer: Key
  },
  'POST /admin/v1/keys/:key_id/rotate': {
    operationId: 'rotateKey',
    summary: 'Replace the secret of a key.',
    role: 'member',
    scope: 'keys:write',
    request: KeyRotation,
    answer: CreatedKey
  },
  'DELETE /admin/v1/keys/:key_id': {
    operationId: 'revokeKey',
    summary: 'Revoke a key, at once and for good.',
    role: 'member',
    scope: 'keys:write',
    answer: Key
  },
  'POST /admin/v1/playground/key': {
    operationId: 'createPlaygroundKey',
    summary: 'Create a key that lasts an hour, for calls of the page itself.',
    role: 'self',
    needsCredential: true,
    request: PlaygroundKeyRequest,
    answer: PlaygroundKey
  },

  'GET /admin/v1/admin-keys': {
    operationId: 'listAdminKeys',
    summary: 'List the keys of the admin API.',
    role: 'admin',
    scope: 'users:read',
    query: pageQuery,
    answer: Page(AdminKey)
  },
  'POST /admin/v1/admin-keys': {
    operationId: 'createAdminKey',
    summary: 'Create a key of the admin API, with your own role at most.',
    role: 'admin',
    scope: 'users:write',
    request: NewAdminKey,
    answer: CreatedAdminKey
  },
  'DELETE /admin/v1/admin-keys/:key_id': {
    operationId: 'revokeAdminKey',
    summary: 'Revoke a key of the admin API.',
    role: 'admin',
    scope: 'users:write',
    answer: Deleted
  },

  'GET /admin/v1/usage': {
    operationId: 'getUsage',
    summary: 'Sum up calls, tokens, cost and latency.',
    role: 'viewer',
    scope: 'usage:read',
    query: usageQuery,
    answer: Usage
  },
  'GET /admin/v1/usage.csv': {
    operationId: 'getUsageCsv',
    summary: 'The same as a table: a row for each bucket and group.',
    role: 'viewer',
    scope: 'usage:read',
    query: usageQuery,
    answer: AnyObject,
    mediaType: 'text/csv'
  },
  'GET /admin/v1/usage-exports': {
    operationId: 'listUsageExports',
    summary: 'List the files of `usage.exports` with their state, the newest first.',
    role: 'admin',
    scope: 'usage:read',
    query: usageExportQuery,
    answer: UsageExportPage
  },
  'POST /admin/v1/usage-exports/run': {
    operationId: 'runUsageExport',
    summary: 'Write the files of a target that are due, including those that wait after a failed attempt.',
    role: 'admin',
    scope: 'usage:write',
    request: UsageExportRun,
    answer: UsageExportsDue
  },
  'GET /admin/v1/calls.csv': {
    operationId: 'exportCalls',
    summary:
      'The usage records of calls as a table, the oldest first, as `headgate usage export` prints them.',
    role: 'member',
    scope: 'calls:read',
    query: callExportQuery,
    answer: AnyObject,
    mediaType: 'text/csv'
  },
  'GET /admin/v1/calls': {
    operationId: 'listCalls',
    summary: 'List calls, the newest first.',
    role: 'member',
    scope: 'calls:read',
    query: callQuery,
    answer: CallPage
  },
  'GET /admin/v1/calls/:call_id': {
    operationId: 'getCall',
    summary: 'Describe a call in full, by the id of its record, or the newest one with a request id.',
    role: 'member',
    scope: 'calls:read',
    query: callMoment,
    answer: CallDetail
  },
  'GET /admin/v1/calls/:call_id/bodies': {
    operationId: 'getCallBodies',
    summary:
      'Read the request and the answer of a call, where they are kept. Some projects allow this to higher ' +
      'roles only; every read is in the audit log.',
    role: 'member',
    scope: 'bodies:read',
    answer: CallBodies
  },
  'GET /admin/v1/live-calls': {
    operationId: 'followCalls',
    summary: 'Follow calls as they end.',
    role: 'member',
    scope: 'calls:read',
    query: liveQuery,
    answer: LiveCalls,
    mediaType: 'text/event-stream'
  },

  'GET /admin/v1/models': {
    operationId: 'listCatalogue',
    summary: 'List models, routes and aliases with prices and state.',
    role: 'viewer',
    scope: 'models:read',
    answer: CatalogueList
  },
  'GET /admin/v1/providers': {
    operationId: 'listProviders',
    summary: 'List the providers and their health, as this process knows it.',
    role: 'viewer',
    scope: 'models:read',
    answer: ProviderList
  },
  'GET /admin/v1/tool-servers': {
    operationId: 'listToolServers',
    summary: 'List the tool servers of the configuration.',
    role: 'member',
    scope: 'models:read',
    answer: ToolServerList
  },
  'GET /admin/v1/tool-servers/:org/:name': {
    operationId: 'listTools',
    summary: 'Connect to a tool server and list its tools.',
    role: 'member',
    scope: 'models:read',
    answer: ToolServerTools
  },

  'GET /admin/v1/stages': {
    operationId: 'listStages',
    summary: 'List the guards of the configuration, and what they did in the last day.',
    role: 'member',
    scope: 'models:read',
    answer: GuardList
  },
  'POST /admin/v1/stages/try': {
    operationId: 'tryStages',
    summary: 'Have the guards inspect a text. Services that they use are called as for a call.',
    role: 'admin',
    scope: 'configuration:read',
    request: GuardTrial,
    answer: GuardTrialResult
  },

  'GET /admin/v1/configuration': {
    operationId: 'getConfiguration',
    summary: 'The configuration in effect, without secrets.',
    role: 'admin',
    scope: 'configuration:read',
    answer: Configuration
  },
  'GET /admin/v1/configuration/schema': {
    operationId: 'getConfigurationSchema',
    summary: 'The JSON Schema of the configuration.',
    role: 'admin',
    scope: 'configuration:read',
    answer: AnyObject
  },
  'POST /admin/v1/configuration/check': {
    operationId: 'checkConfiguration',
    summary: 'Check a draft of the configuration; nothing is saved.',
    role: 'admin',
    scope: 'configuration:read',
    request: ConfigurationDraft,
    answer: ConfigurationCheck
  },
  'POST /admin/v1/configuration': {
    operationId: 'saveConfiguration',
    summary: 'Save the file of the configuration.',
    role: 'owner',
    scope: 'configuration:write',
    request: ConfigurationSave,
    answer: Configuration
  },

  'GET /admin/v1/audit': {
    operationId: 'listAudit',
    summary: 'List administrative acts, the newest first.',
    role: 'admin',
    scope: 'audit:read',
    query: auditQuery,
    answer: AuditPage
  },

  'GET /admin/v1/alerts': {
    operationId: 'listAlerts',
    summary: 'List alerts and their deliveries, the newest first.',
    role: 'admin',
    scope: 'alerts:read',
    query: alertQuery,
    answer: AlertPage
  },
  'GET /admin/v1/alerts/channels': {
    operationId: 'listAlertChannels',
    summary: 'List where alerts are sent.',
    role: 'admin',
    scope: 'alerts:read',
    answer: AlertChannelList
  },
  'POST /admin/v1/alerts/test': {
    operationId: 'testAlertChannel',
    summary: 'Send a test to a channel, once, and return the result.',
    role: 'admin',
    scope: 'alerts:write',
    request: AlertTest,
    answer: AlertDelivery
  }
} as const satisfies Readonly<Record<`${'GET' | 'POST' | 'DELETE'} /admin/v1/${string}`, AdminRouteSpec>>

export type AdminRoutes = typeof adminRoutes
export type AdminRoute = keyof AdminRoutes
