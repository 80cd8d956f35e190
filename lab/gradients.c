/*
 * gradients.c - all gradients of a network taken as one vector. Sums are in double, parameter by
 * parameter, so that they are the same on every rank.
 */
#include <math.h>

#include "optimizer.h"

double lab_gradient_norm(const struct lab_net *net)
{
    double sum = 0;
    for (int i = 0; i < net->parameter_count; i++)
        for (size_t j = 0; j < net->parameters[i]->tensor.count; j++) {
            double g = (double)net->parameters[i]->tensor.grad[j];
            sum += g * g;
        }
    return sqrt(sum);
}

void lab_gradient_multiply(struct lab_net *net, double factor)
{
    for (int i = 0; i < net->parameter_count; i++) {
        struct lab_tensor *tensor = &net->parameters[i]->tensor;
        for (size_t j = 0; j < tensor->count; j++)
            tensor->grad[j] *= (real)factor;
        tensor->recorded_grad.known.known = false;
    }
}

bool lab_gradient_finite(const struct lab_net *net)
{
    for (int i = 0; i < net->parameter_count; i++)
        for (size_t j = 0; j < net->parameters[i]->tensor.count; j++)
            if (!isfinite(net->parameters[i]->tensor.grad[j]))
                return false;
    return true;
}
