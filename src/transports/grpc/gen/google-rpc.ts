// Made from google_rpc.proto by scripts/gen.mjs: edit that and run `npm run gen`.
import type { BinaryReader } from '@bufbuild/protobuf/wire'
import { finish, readBase64, readDuration, readEntry, skip, writeDuration } from '../wire.js'
import type { Writer } from '../wire.js'

export interface Any {
  typeUrl?: string
  value?: string
}

export function writeAny(m: Any, w: Writer): void {
  if (m.typeUrl) w.uint32(10).string(m.typeUrl)
  if (m.value) w.uint32(18).bytes(m.value)
}

export function readAny(r: BinaryReader, end: number, m: Any = {}): Any {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.typeUrl = r.string(true); break
      case 18: m.value = readBase64(r); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface Status {
  code?: number
  message?: string
  details?: Any[]
}

export function writeStatus(m: Status, w: Writer): void {
  if (m.code) w.uint32(8).int32(m.code)
  if (m.message) w.uint32(18).string(m.message)
  if (m.details) for (const each of m.details) { w.uint32(26).fork(); writeAny(each, w); w.join() }
}

export function readStatus(r: BinaryReader, end: number, m: Status = {}): Status {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 8: m.code = r.int32(); break
      case 18: m.message = r.string(true); break
      case 26: (m.details ??= []).push(readAny(r, r.uint32() + r.pos)); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface ErrorInfo {
  reason?: string
  domain?: string
  metadata?: Record<string, string>
}

export function writeErrorInfo(m: ErrorInfo, w: Writer): void {
  if (m.reason) w.uint32(10).string(m.reason)
  if (m.domain) w.uint32(18).string(m.domain)
  if (m.metadata) for (const [key, each] of Object.entries(m.metadata)) {
    w.uint32(26).fork().uint32(10).string(key)
    w.uint32(18).string(each)
    w.join()
  }
}

export function readErrorInfo(r: BinaryReader, end: number, m: ErrorInfo = {}): ErrorInfo {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.reason = r.string(true); break
      case 18: m.domain = r.string(true); break
      case 26: readEntry(r, r.uint32() + r.pos, (m.metadata ??= {}), () => r.string(true), ''); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface BadRequest {
  fieldViolations?: BadRequestFieldViolation[]
}

export function writeBadRequest(m: BadRequest, w: Writer): void {
  if (m.fieldViolations) for (const each of m.fieldViolations) { w.uint32(10).fork(); writeBadRequestFieldViolation(each, w); w.join() }
}

export function readBadRequest(r: BinaryReader, end: number, m: BadRequest = {}): BadRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: (m.fieldViolations ??= []).push(readBadRequestFieldViolation(r, r.uint32() + r.pos)); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface BadRequestFieldViolation {
  field?: string
  description?: string
}

export function writeBadRequestFieldViolation(m: BadRequestFieldViolation, w: Writer): void {
  if (m.field) w.uint32(10).string(m.field)
  if (m.description) w.uint32(18).string(m.description)
}

export function readBadRequestFieldViolation(r: BinaryReader, end: number, m: BadRequestFieldViolation = {}): BadRequestFieldViolation {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.field = r.string(true); break
      case 18: m.description = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface RetryInfo {
  retryDelay?: string
}

export function writeRetryInfo(m: RetryInfo, w: Writer): void {
  if (m.retryDelay !== undefined) { w.uint32(10).fork(); writeDuration(m.retryDelay, w); w.join() }
}

export function readRetryInfo(r: BinaryReader, end: number, m: RetryInfo = {}): RetryInfo {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.retryDelay = readDuration(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}
