#include "remat-c/Runtime.h"
#include <stdio.h>
int main(void) {
  RematDevice device;
  RematStatus status = rematDeviceCreate("host", &device);
  puts(status ? rematStatusGetMessage(status) : "host device ready");
  rematDeviceDestroy(status ? 0 : device);
  return rematStatusGetCode(status);
}
