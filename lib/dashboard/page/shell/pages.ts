/**
 * The places of the dashboard: what is shown there, who may see it, and where it stands in the navigation.
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
import { StagesPage } from '../stages/stages-page.tsx'
import { ToolsPage } from '../tools/tools-page.tsx'

/** A page gets the parts of its address that its path leaves open. */
export type PageComponent = ComponentType<{ readonly id: string }>

export interface Place {
  readonly path: string
  readonly label: string
  readonly role: Role
  /** Large ones come on the first visit. */
  readonly load: () => Promise<PageComponent>
}

export interface MenuPlace extends Place {
  readonly icon: IconName
}

export interface MenuGroup {
  readonly title?: string
  readonly places: readonly MenuPlace[]
}

export const menu: readonly MenuGroup[] = [
  {
    places: [
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
    places: [
      { path: '/models', label: 'Models', icon: 'models', role: 'viewer', load: async () => ModelsPage },
      { path: '/tools', label: 'Tool servers', icon: 'tools', role: 'member', load: async () => ToolsPage },
      { path: '/stages', label: 'Stages', icon: 'guard', role: 'member', load: async () => StagesPage },
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
    places: [
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
const others: readonly Place[] = [
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

export const places: readonly Place[] = [...menu.flatMap(group => group.places), ...others]

export interface Match { readonly place: Place, readonly id: string }

/** Returns the place of a path, with the part at `:id`. */
export function matchPlace (path: string): Match | undefined {
  for (const place of places) {
    if (place.path === path) return { place, id: '' }
    const stem = place.path.replace(':id', '')
    if (stem !== place.path && path.startsWith(stem)) {
      return { place, id: decodeURIComponent(path.slice(stem.length)) }
    }
  }
}
