/**
 * The pages of the dashboard: path, component, minimum role, and menu entry.
 */

import type { ComponentType } from 'preact'
import type { Role } from '../../../../schemas/admin/common.ts'
import type { IconName } from '../parts/icon.tsx'
import { AuditPage } from '../audit/audit-page.tsx'
import { CallPage } from '../calls/call-page.tsx'
import { CallsPage } from '../calls/calls-page.tsx'
import { KeyPage } from '../keys/key-page.tsx'
import { KeysPage } from '../keys/keys-page.tsx'
import { MembersPage } from '../members/members-page.tsx'
import { ModelsPage } from '../models/models-page.tsx'
import { ProfilePage } from '../profile/profile-page.tsx'
import { ProjectPage } from '../projects/project-page.tsx'
import { ProjectsPage } from '../projects/projects-page.tsx'
import { GuardsPage } from '../guards/guards-page.tsx'
import { ToolsPage } from '../tools/tools-page.tsx'

/** A page gets the variable parts of its path. */
export type PageComponent = ComponentType<{ readonly id: string }>

export interface PageRoute {
  readonly path: string
  readonly label: string
  readonly role: Role
  /** Large pages are loaded on the first visit. */
  readonly load: () => Promise<PageComponent>
}

export interface MenuEntry extends PageRoute {
  readonly icon: IconName
}

export interface MenuGroup {
  readonly title?: string
  readonly entries: readonly MenuEntry[]
}

export const menu: readonly MenuGroup[] = [
  {
    entries: [
      {
        path: '/',
        label: 'Overview',
        icon: 'overview',
        role: 'viewer',
        load: async () => (await import('../usage/usage-page.tsx')).UsagePage
      },
      { path: '/keys', label: 'Keys', icon: 'key', role: 'member', load: async () => KeysPage },
      { path: '/calls', label: 'Calls', icon: 'calls', role: 'member', load: async () => CallsPage },
      {
        path: '/playground',
        label: 'Playground',
        icon: 'play',
        role: 'member',
        load: async () => (await import('../playground/playground-page.tsx')).PlaygroundPage
      }
    ]
  },
  {
    title: 'Gateway',
    entries: [
      { path: '/models', label: 'Models', icon: 'models', role: 'viewer', load: async () => ModelsPage },
      { path: '/tools', label: 'Tool servers', icon: 'tools', role: 'member', load: async () => ToolsPage },
      { path: '/stages', label: 'Guards', icon: 'guard', role: 'member', load: async () => GuardsPage },
      {
        path: '/alerts',
        label: 'Alerts',
        icon: 'bell',
        role: 'admin',
        load: async () => (await import('../alerts/alerts-page.tsx')).AlertsPage
      },
      {
        path: '/exports',
        label: 'Exports',
        icon: 'download',
        role: 'admin',
        load: async () => (await import('../exports/exports-page.tsx')).ExportsPage
      },
      {
        path: '/configuration',
        label: 'Configuration',
        icon: 'settings',
        role: 'admin',
        load: async () => (await import('../configuration/configuration-page.tsx')).ConfigurationPage
      }
    ]
  },
  {
    title: 'Organisation',
    entries: [
      {
        path: '/projects',
        label: 'Projects',
        icon: 'project',
        role: 'viewer',
        load: async () => ProjectsPage
      },
      { path: '/members', label: 'Members', icon: 'people', role: 'admin', load: async () => MembersPage },
      { path: '/audit', label: 'Audit log', icon: 'audit', role: 'admin', load: async () => AuditPage }
    ]
  }
]

/** Pages that are reached from others. */
const others: readonly PageRoute[] = [
  { path: '/keys/:id', label: 'Key', role: 'member', load: async () => KeyPage },
  { path: '/calls/:id', label: 'Call', role: 'member', load: async () => CallPage },
  {
    path: '/sessions/:id',
    label: 'Session',
    role: 'member',
    load: async () => (await import('../calls/session-page.tsx')).SessionPage
  },
  { path: '/projects/:id', label: 'Project', role: 'viewer', load: async () => ProjectPage },
  { path: '/profile', label: 'Your account', role: 'viewer', load: async () => ProfilePage }
]

export const pageRoutes: readonly PageRoute[] = [...menu.flatMap(group => group.entries), ...others]

export interface Match { readonly route: PageRoute, readonly id: string }

/** Returns the page at a path, with the value of `:id`. */
export function matchPath (path: string): Match | undefined {
  for (const route of pageRoutes) {
    if (route.path === path) return { route, id: '' }
    const stem = route.path.replace(':id', '')
    if (stem !== route.path && path.startsWith(stem)) {
      return { route, id: decodeURIComponent(path.slice(stem.length)) }
    }
  }
}
