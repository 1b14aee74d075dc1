/* Loaded before libc (LD_PRELOAD): counts the calls a process makes on the files below one folder, writes them down,
   and lets the n-th of them fail, stop half way, or be the last thing the process does. It can also move the clock.
   Armed from Python by ctypes: see shim.py, whose tables hold the same numbers. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CREATE = 1, WRITE = 2, FSYNC = 4, LINK = 8, UNLINK = 16, RENAME = 32, TRUNCATE = 64, MKDIR = 128, CHMOD = 256,
       OPEN = 512, READ = 1024, STAT = 2048, FSTAT = 4096, LIST = 8192 };
enum { NOTHING, KILL_BEFORE, KILL_AFTER, KILL_HALF, FAIL, FAIL_HALF, SHORT };

static char root[4096];
static int mask, at, action, failure, once, log_fd = -1;
static long shift_s, drift_s;
static atomic_int seen;
static unsigned short kinds[1 << 16];
static atomic_long looks;

void shim_arm(const char *folder, int kinds, int number, int what, int error, int only_once, int log) {
  strncpy(root, folder, sizeof root - 1);
  mask = kinds, at = number, action = what, failure = error, once = only_once, log_fd = log;
  atomic_store(&seen, 0);
}
int shim_seen(void) { return atomic_load(&seen); }
int shim_kind(int number) { return kinds[number & 0xffff]; }
void shim_clock(long shift, long drift) { shift_s = shift, drift_s = drift; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char *path_of(int fd, char *room) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t got = REAL(readlink)(link, room, 4095);
  room[got < 0 ? 0 : got] = 0;
  return room;
}
static const char *path_at(int dir, const char *path, char *room) {
  if (!path) return "";
  if (path[0] == '/' || dir == AT_FDCWD) return path;
  path_of(dir, room);
  size_t used = strlen(room);
  snprintf(room + used, 4095 - used, "/%s", path);
  return room;
}
static int below(const char *path) { return root[0] && path && !strncmp(path, root, strlen(root)); }

/* What to do with this call: NOTHING for most. */
static int turn(int kind, const char *path) {
  if (!(mask & kind) || !below(path)) return NOTHING;
  int now = atomic_fetch_add(&seen, 1) + 1;
  kinds[now & 0xffff] = kind;
  if (now == at || (now > at && at && !once && action >= FAIL)) {
    if (action == KILL_BEFORE) raise(SIGKILL);
    if (action != KILL_AFTER && action != KILL_HALF && action != FAIL_HALF && action != SHORT) errno = failure;
    return action;
  }
  return NOTHING;
}
static void after(int act) { if (act == KILL_AFTER || act == KILL_HALF) raise(SIGKILL); }

static void note(const char *op, int fd, const char *path, const char *other, long offset, const void *data, size_t size) {
  char head[9000], room[4096];
  struct stat info = {0};
  if (log_fd < 0 || !below(path ? path : path_of(fd, room))) return;
  if (fd >= 0) REAL(fstat)(fd, &info);
  else if (strcmp(op, "mkdir")) REAL(lstat)(other ? other : path, &info);
  int used = snprintf(head, sizeof head, "%s\t%lu\t%s\t%s\t%ld\t%zu\n", op, (unsigned long)info.st_ino,
                      path ? path : room, other ? other : "", offset, size);
  REAL(write)(log_fd, head, used);
  if (size) REAL(write)(log_fd, data, size);
}

#define TURN(kind, path) int act = turn(kind, path); if (act == FAIL) return -1
#define DONE(call) int got = call; int kept = errno; after(act); errno = kept

static int opened(const char *name, int dir, const char *path, int flags, mode_t mode) {
  char room[4096];
  int creates = flags & O_CREAT;
  const char *full = path_at(dir, path, room);
  TURN(creates ? CREATE : OPEN, full);
  int (*real)(int, const char *, int, ...) = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, name);
  int fresh = creates && log_fd >= 0 && below(full) && REAL(access)(full, F_OK);
  DONE(real(dir, path, flags, mode));
  if (fresh && got >= 0) note("create", got, full, NULL, 0, NULL, 0);
  return got;
}
#define MODE mode_t mode = 0; va_list more; va_start(more, flags); if (flags & (O_CREAT | O_TMPFILE)) mode = va_arg(more, mode_t); va_end(more)
int open(const char *path, int flags, ...) { MODE; return opened("openat", AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE; return opened("openat64", AT_FDCWD, path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE; return opened("openat", dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE; return opened("openat64", dir, path, flags, mode); }

ssize_t write(int fd, const void *data, size_t size) {
  char room[4096];
  if (!root[0] || fd == log_fd) return REAL(write)(fd, data, size);
  TURN(WRITE, path_of(fd, room));
  size_t want = (act == KILL_HALF || act == SHORT || act == FAIL_HALF) && size > 1 ? size / 2 : size;
  struct stat info = {0};
  if (log_fd >= 0) REAL(fstat)(fd, &info);
  ssize_t got = REAL(write)(fd, data, want);
  if (got > 0) note("write", fd, NULL, NULL, (fcntl(fd, F_GETFL) & O_APPEND) ? info.st_size : lseek(fd, 0, SEEK_CUR) - got, data, got);
  after(act);
  if (act == FAIL_HALF) { errno = failure; at = atomic_load(&seen) + 1; action = FAIL; }
  return got;
}
#define SYNC(name) int name(int fd) { char room[4096]; TURN(FSYNC, path_of(fd, room)); DONE(REAL(name)(fd)); if (!got) note("fsync", fd, NULL, NULL, 0, NULL, 0); return got; }
SYNC(fsync)
SYNC(fdatasync)
#define CUT(name, type) int name(int fd, type size) { char room[4096]; TURN(TRUNCATE, path_of(fd, room)); DONE(REAL(name)(fd, size)); if (!got) note("truncate", fd, NULL, NULL, size, NULL, 0); return got; }
CUT(ftruncate, off_t)
CUT(ftruncate64, off64_t)
int fchmod(int fd, mode_t mode) { char room[4096]; TURN(CHMOD, path_of(fd, room)); DONE(REAL(fchmod)(fd, mode)); return got; }

#define TWO(name, kind, op) int name(const char *from, const char *to) { TURN(kind, to); DONE(REAL(name)(from, to)); if (!got) note(op, -1, from, to, 0, NULL, 0); return got; }
TWO(link, LINK, "link")
TWO(rename, RENAME, "rename")
int linkat(int a, const char *from, int b, const char *to, int flags) { TURN(LINK, to); DONE(REAL(linkat)(a, from, b, to, flags)); if (!got) note("link", -1, from, to, 0, NULL, 0); return got; }
int renameat(int a, const char *from, int b, const char *to) { TURN(RENAME, to); DONE(REAL(renameat)(a, from, b, to)); if (!got) note("rename", -1, from, to, 0, NULL, 0); return got; }
int unlink(const char *path) { TURN(UNLINK, path); DONE(REAL(unlink)(path)); if (!got) note("unlink", -1, path, NULL, 0, NULL, 0); return got; }
int unlinkat(int dir, const char *path, int flags) { char room[4096]; const char *full = path_at(dir, path, room); TURN(UNLINK, full); DONE(REAL(unlinkat)(dir, path, flags)); if (!got) note("unlink", -1, full, NULL, 0, NULL, 0); return got; }
int mkdir(const char *path, mode_t mode) { TURN(MKDIR, path); DONE(REAL(mkdir)(path, mode)); if (!got) note("mkdir", -1, path, NULL, 0, NULL, 0); return got; }

ssize_t read(int fd, void *data, size_t size) {
  char room[4096];
  if (!root[0] || !(mask & READ)) return REAL(read)(fd, data, size);
  TURN(READ, path_of(fd, room));
  return REAL(read)(fd, data, act == SHORT && size > 1 ? 1 : size);
}
ssize_t readv(int fd, const struct iovec *parts, int count) {
  char room[4096];
  if (!root[0] || !(mask & READ)) return REAL(readv)(fd, parts, count);
  TURN(READ, path_of(fd, room));
  return REAL(readv)(fd, parts, count);
}
#define LOOK(name, type) int name(const char *path, struct type *info) { TURN(STAT, path); return REAL(name)(path, info); }
LOOK(stat, stat)
LOOK(stat64, stat64)
LOOK(lstat, stat)
LOOK(lstat64, stat64)
#define LOOKAT(name, type) int name(int dir, const char *path, struct type *info, int flags) { char room[4096]; TURN(STAT, path_at(dir, path, room)); return REAL(name)(dir, path, info, flags); }
LOOKAT(fstatat, stat)
LOOKAT(fstatat64, stat64)
#define LOOKIN(name, type) int name(int fd, struct type *info) { char room[4096]; if (mask & FSTAT) { TURN(FSTAT, path_of(fd, room)); } return REAL(name)(fd, info); }
LOOKIN(fstat, stat)
LOOKIN(fstat64, stat64)
DIR *opendir(const char *path) { return turn(LIST, path) == FAIL ? NULL : REAL(opendir)(path); }
#define NEXT(name, type) struct type *name(DIR *dir) { char room[4096]; if ((mask & LIST) && turn(LIST, path_of(dirfd(dir), room)) == FAIL) return NULL; return REAL(name)(dir); }
NEXT(readdir, dirent)
NEXT(readdir64, dirent64)

static long shift(void) { return shift_s + drift_s * atomic_fetch_add(&looks, 1); }
int clock_gettime(clockid_t clock, struct timespec *now) {
  int got = REAL(clock_gettime)(clock, now);
  if (clock == CLOCK_REALTIME && (shift_s || drift_s)) now->tv_sec += shift();
  return got;
}
time_t time(time_t *room) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (room) *room = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int got = REAL(gettimeofday)(now, zone);
  if (shift_s || drift_s) now->tv_sec += shift();
  return got;
}
